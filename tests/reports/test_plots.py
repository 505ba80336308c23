"""Plots: deterministic bytes, every size of run, text that stays text, labels that stay apart."""

import subprocess
import sys
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from reports.plot_style import KNOWN, plain, readable_ticks, spread, styles_for
from reports.plots import Line, plot_speedup, plot_throughput

SIZES = {
    "nothing": [],
    "one point": [Line("pytorch", [1], [352.7], [340.0], [361.0])],
    "one and two": [Line("pytorch", [1, 2], [1.0, 1.9], [1.0, 1.8], [1.0, 2.0], note="emulated")],
    "from eight": [Line("pytorch", [8, 16], [1.0, 1.9]), Line("mxnet", [8], [1.0])],
    "slower than one": [Line("pytorch", [1, 2, 4], [1.0, 0.8, 0.7], [0.9, 0.7, 0.0], [1, 1, 1])],
    "many": [Line(f"impl {i}", [1, 3, 9, 10, 11], [1, 2.5, 6, 7, 8 - i / 9]) for i in range(20)],
}


@pytest.mark.parametrize("plot", [plot_throughput, plot_speedup])
@pytest.mark.parametrize("name", SIZES)
def test_every_size_is_drawn(tmp_path, name, plot):
    base = {"base_devices": 8} if name == "from eight" and plot is plot_speedup else {}
    stem = tmp_path / "new" / "plot.v1"
    written = plot(SIZES[name], title=name, subtitle="on a test", path_stem=stem, **base)
    assert [path.name for path in written] == ["plot.v1.svg", "plot.v1.png"]
    ET.fromstring(written[0].read_text(encoding="utf-8"))  # noqa: S314 (our own file)
    with Image.open(written[1]) as image:
        assert image.width == 1600
        assert image.height >= 900


def test_the_bytes_do_not_change(tmp_path, monkeypatch):
    lines = SIZES["one and two"]
    first = plot_speedup(lines, title="t", subtitle="s", path_stem=tmp_path / "a")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    second = plot_speedup(lines, title="t", subtitle="s", path_stem=tmp_path / "b")
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
    assert b"<dc:date>" not in first[0].read_bytes()


def test_text_from_outside_stays_text(tmp_path, recwarn):
    names = [
        r"$\frac{1}{2}$",
        "a$b",
        "<script>x</script>",
        "--> &amp;",
        "主机\x07\x00\n",
        "_hidden",
    ]
    lines = [Line(name, [1, 2], [1.0, 2.0 - i / 9], note=name) for i, name in enumerate(names)]
    lines.append(Line("x" * 500, [1, 2], [1.0, 1.1], note="y" * 500))
    svg, png = plot_speedup(lines, title="$" * 300, subtitle="$x" * 300, path_stem=tmp_path / "a")
    root = ET.fromstring(svg.read_text(encoding="utf-8"))  # noqa: S314 (our own file)
    assert not [element for element in root.iter() if element.tag.endswith("script")]
    assert png.stat().st_size
    assert not recwarn.list


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (([1, 2], [1.0]), "one value for each number of devices"),
        (([], []), "one value for each number of devices"),
        (([1, 2], [1.0, 2.0], [1.0]), "one value for each number of devices"),
        (([2, 1], [1.0, 2.0]), "not ascending"),
        (([0, 1], [1.0, 2.0]), "not ascending"),
        (([1], [float("nan")]), "not every value is finite"),
        (([1], [0.0]), "was never measured"),
    ],
)
def test_a_line_that_cannot_be_drawn_is_refused(values, says):
    with pytest.raises(ValueError, match=says):
        Line("pytorch", *values)


def test_importing_the_plots_does_not_import_matplotlib():
    code = "import sys, reports.plots; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_implementation_keeps_its_style():
    names = [
        "PyTorch",
        "NGC TensorFlow 1.x",
        "something new",
        "NGC TensorFlow 1.x",
        "TensorFlow 2.x",
    ]
    one, ngc, new, variant, tensorflow = styles_for(names)
    assert one == KNOWN["pytorch"] == styles_for(["pytorch"])[0]
    assert ngc == KNOWN["ngc-tensorflow"]
    assert tensorflow == KNOWN["tensorflow"]
    assert variant.color == ngc.color
    assert variant.hollow
    assert new.color not in {one.color, ngc.color, tensorflow.color}


def test_nine_implementations_have_nine_colours_and_markers():
    assert len({style.color for style in KNOWN.values()}) == len(KNOWN) == 9
    assert len({style.marker for style in KNOWN.values()}) == 9
    assert len(set(styles_for([str(index) for index in range(18)]))) == 18


@given(st.lists(st.floats(-2, 3), max_size=12), st.floats(0.01, 0.3))
def test_labels_keep_their_order_and_distance(wanted, gap):
    placed = spread(wanted, gap=gap, low=0, high=1)
    distance = min(gap, 1 / max(len(wanted) - 1, 1))
    assert all(-1e-9 <= height <= 1 + 1e-9 for height in placed)
    pairs = sorted(zip(wanted, placed, strict=True))
    assert all(
        b[1] - a[1] >= distance - 1e-9 for a, b in pairwise(sorted(pairs, key=lambda p: p[1]))
    )
    assert all(a[1] < b[1] for a, b in pairwise(pairs) if a[0] < b[0])


def test_labels_with_room_stay_where_they_are():
    assert spread([0.9, 0.1, 0.5], gap=0.1, low=0, high=1) == pytest.approx([0.9, 0.1, 0.5])
    assert spread([0.5, 0.5], gap=0.2, low=0, high=1) == pytest.approx([0.4, 0.6])


@pytest.mark.parametrize(
    ("devices", "ticks"),
    [
        ([], []),
        ([1], [1]),
        ([2, 1], [1, 2]),
        ([1, 8, 16, 32], [1, 8, 16, 32]),
        ([1, 2, 3, 4, 5, 6, 7, 8], [1, 2, 3, 4, 5, 6, 8]),
        ([30, 31, 32], [30, 32]),
    ],
)
def test_ticks_are_the_device_counts_that_can_be_read(devices, ticks):
    assert readable_ticks(devices) == ticks


@given(st.text())
def test_plain_text_is_one_printable_line(text):
    line = plain(text, 20)
    assert len(line) <= 20
    assert line.isprintable()

"""The published figures: what the files hold, the v1.0 edition, and what is refused."""

import csv
import io
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from results import published_figures as published
from results.errors import InputError
from results.published_csv import read_rows
from results.published_figures import PublishedFigure

HEADER = (
    "implementation,framework_version,precision,xla,dali,batch_size_per_device,nodes,"
    "devices_per_node,throughput,speedup,document,line,note"
)
GOOD = {
    "implementation": "pytorch",
    "framework_version": "1.6.0",
    "precision": "fp32",
    "xla": "no",
    "dali": "yes",
    "batch_size_per_device": "128",
    "nodes": "4",
    "devices_per_node": "8",
    "throughput": "10021.29",
    "speedup": "28.75",
    "document": "README.md",
    "line": "122",
    "note": "",
}

SPEEDUPS = """
oneflow        fp32 no  128  7.87 15.74 31.21
ngc-mxnet      fp32 no  128  7.67 14.68 28.89
ngc-tensorflow fp32 no  128  7.51 14.07 26.25
ngc-pytorch    fp32 no  128  7.86 15.56 29.72
mxnet          fp32 no  128  6.65 12.64 24.93
tensorflow     fp32 no  128  7.64 15.07 29.27
pytorch        fp32 no  128  7.55 14.67 28.75
paddlepaddle   fp32 no  128  7.44 13.88 26.50
mindspore      fp32 no  128  7.50 14.83 29.02
oneflow        amp  no  256  7.22 12.17 22.50
ngc-mxnet      amp  no  256  6.90 11.64 22.03
ngc-tensorflow amp  yes 224  7.17 12.46 24.34
ngc-tensorflow amp  no  224  7.30 12.72 26.17
ngc-pytorch    amp  no  256  7.67 14.94 28.09
mxnet          amp  no  256  3.49  6.54 12.67
tensorflow     amp  no  256  6.42  9.18 17.96
paddlepaddle   amp  no  196  7.73  6.78 13.10
mindspore      amp  no  256  6.15 10.80 21.67
"""


def write(path: Path, rows: list[dict[str, str]]) -> Path:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, HEADER.split(","), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(text.getvalue(), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("load", "rows"),
    [
        (published.load_resnet50, 338),
        (published.load_resnet50_repeats, 253),
        (published.load_resnet50_sources, 33),
        (published.load_bert, 708),
        (published.load_nvidia_resnet50, 64),
    ],
)
def test_every_file_loads_whole(load, rows):
    assert len(load()) == rows
    assert load() is load()


def test_the_v1_edition_has_these_speedups():
    found = [
        [
            series.settings.implementation,
            series.settings.precision,
            "yes" if series.settings.xla else "no",
            str(series.settings.batch_size),
            *(f"{series.speedup(label):.2f}" for label in ("1n8g", "2n8g", "4n8g")),
        ]
        for series in published.dlperf_v1_series()
    ]
    assert found == [line.split() for line in SPEEDUPS.strip().splitlines()]


def test_every_point_of_the_edition_has_its_source():
    for series in published.dlperf_v1_series():
        assert tuple(series.points) == published.V1_LABELS
        assert series.speedup("1n1g") == 1
        documents = {point.document for point in series.points.values()}
        own = series.settings.implementation == "mindspore"
        assert documents == {published.MINDSPORE_README if own else published.V1_REPORT}
        assert all(point.line > 0 for point in series.points.values())


def test_pytorch_is_found_in_fp32_and_not_in_amp():
    (series,) = published.published_for("pytorch", "fp32", "4n8g")
    assert series.settings.framework_version == "1.6.0"
    assert series.points["4n8g"].throughput == 10021.29
    assert series.points["4n8g"].line == 87
    assert series.efficiency("4n8g") == pytest.approx(0.898, abs=0.0005)
    assert published.published_for("pytorch", "amp", "4n8g") == ()
    assert published.published_for("pytorch", "tf32", "1n1g") == ()
    assert published.published_for("pytorch", "fp32", "1n4g") == ()


def test_all_options_of_an_implementation_are_found():
    found = published.published_for("ngc-tensorflow", "amp", "1n8g")
    assert [(one.settings.xla, one.settings.batch_size) for one in found] == [
        (True, 224),
        (False, 224),
    ]


def test_the_root_readme_prints_19_speedups():
    table = published.readme_table()
    assert len(table) == 19
    assert {figure.label for figure in table} == {"4n8g"}
    mindspore = [figure for figure in table if figure.implementation == "mindspore"]
    assert [figure.speedup for figure in mindspore] == [Decimal("29.02"), Decimal("21.67")]


def test_a_series_without_a_base_has_no_speedup():
    (series,) = published.series_of(
        figure for figure in published.readme_table() if figure.implementation == "pytorch"
    )
    assert series.speedup("4n8g") is None
    assert series.efficiency("4n8g") is None
    assert series.speedup("9n9g") is None


def test_a_cell_given_twice_is_refused():
    one = published.readme_table()[0]
    with pytest.raises(InputError, match=r"README\.md, line 122: oneflow fp32 4n8g is there twice"):
        published.series_of([one, one])


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("implementation", ""),
        ("implementation", "a\nb"),
        ("precision", "fp16"),
        ("xla", "true"),
        ("dali", "n/a (video)"),
        ("batch_size_per_device", "-128"),
        ("batch_size_per_device", "128.5"),
        ("nodes", "0"),
        ("nodes", "1_0"),
        ("nodes", "٤"),
        ("devices_per_node", "8" * 5000),
        ("throughput", ""),
        ("throughput", "nan"),
        ("throughput", "inf"),
        ("throughput", "0.00"),
        ("throughput", "1e3"),
        ("throughput", "10,021.29"),
        ("speedup", "28.75x"),
        ("line", "122a"),
    ],
)
def test_a_malformed_cell_is_refused_with_its_place(tmp_path, column, cell):
    path = write(tmp_path / "figures.csv", [GOOD, GOOD | {column: cell}])
    with pytest.raises(InputError) as caught:
        read_rows(path, PublishedFigure)
    message = str(caught.value)
    assert f"{path}, line 3, column {column}: {cell[:80]!r} is not " in message
    assert len(message) < len(str(path)) + 400


def test_lines_are_counted_across_a_quoted_line_break(tmp_path):
    rows = [GOOD | {"note": "one"}, GOOD | {"note": "two\nlines"}, GOOD]
    with pytest.raises(InputError, match="line 3, column note: 'two"):
        read_rows(write(tmp_path / "figures.csv", rows), PublishedFigure)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "line 1: the columns are ''"),
        (b"implementation,speed\n", "line 1: the columns are 'implementation,speed'"),
        (HEADER.encode() + b"\na,b\n", "line 2: 2 cells where the header has 13"),
        (HEADER.encode() + b'\n"a', "not readable as CSV in UTF-8"),
        (HEADER.encode() + b"\n\xff", "not readable as CSV in UTF-8"),
    ],
)
def test_a_file_that_is_no_such_table_is_refused(tmp_path, content, says):
    path = tmp_path / "figures.csv"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_rows(path, PublishedFigure)
    assert f"{path}" in str(caught.value)
    assert says in str(caught.value)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="not readable"):
        read_rows(tmp_path / "none.csv", PublishedFigure)


amounts = st.decimals("0.01", "99999.99", places=2).map(str)
counts = st.integers(1, 9999).map(str)


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                **{key: st.just(value) for key, value in GOOD.items()},
                "implementation": st.text(min_size=1).filter(
                    lambda text: text.strip() and text.isprintable()
                ),
                "precision": st.sampled_from(["fp32", "amp"]),
                "dali": st.sampled_from(["yes", "no", "n/a", "n/a (synthetic data)"]),
                "nodes": counts,
                "throughput": amounts,
                "speedup": st.one_of(st.just(""), amounts),
            }
        ),
        max_size=4,
    )
)
def test_what_is_well_formed_comes_back_unchanged(tmp_path_factory, rows):
    path = write(tmp_path_factory.getbasetemp() / "well-formed.csv", rows)
    figures = read_rows(path, PublishedFigure)
    assert len(figures) == len(rows)
    for figure, row in zip(figures, rows, strict=True):
        assert figure.implementation == row["implementation"]
        assert figure.throughput == float(row["throughput"])
        assert figure.dali is {"yes": True, "no": False}.get(row["dali"])
        assert str(figure.speedup or "") == row["speedup"]
        assert figure.label == f"{row['nodes']}n8g"


@given(st.text(max_size=200))
def test_any_other_text_is_refused_and_never_a_crash(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(f"{HEADER}\n{text}".encode("utf-8", "surrogatepass"))
    try:
        figures = read_rows(path, PublishedFigure)
    except InputError:
        return
    assert figures == ()

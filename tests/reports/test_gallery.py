"""The gallery: what is committed is what is rendered, and its figures are DLPerf's."""

from pathlib import Path

import msgspec
import pytest
from markdown_it import MarkdownIt

from reports.gallery import FOLDER, render_gallery, render_page
from results import published_figures as published
from results.published_checks import Finding, Place, Stated, find_disagreements
from results.published_speedups import check_speedups

ROWS = """
| 1 | 8 | 3130.34 | 3006.98 | 2721.98 | 2887.65 | 2556.03 | 2458.74 | 2632.93 | 2625.38 | 2773.82 |
| 2 | 16 | 15.74 | 14.68 | 14.07 | 15.56 | 12.64 | 15.07 | 14.67 | 13.88 | 14.83 |
| 4 | 32 | 31.21 | 28.89 | 26.25 | 29.72 | 24.93 | 29.27 | 28.75 | 26.50 | 29.02 |
| | efficiency | 98% | 90% | 82% | 93% | 78% | 91% | 90% | 83% | 91% |
| 1 | 1 | 1472.72 | 1393.87 | 1198.55 | 945.18 | 802.90 | 833.65 | 1075.27 | 887.17 | 1116.00 |
| 2 | 16 | 12.17 | 11.64 | 12.46 | 12.72 | 14.94 | 6.54 | 9.18 | 6.78 | 10.80 |
| 4 | 32 | 22.50 | 22.03 | 24.34 | 26.17 | 28.09 | 12.67 | 17.96 | 13.10 | 21.67 |
| NGC MXNet | 11233.92 | 28.67 | **≠ 28.64** | 90% | 30713.68 | 22.03 | 22.03 | 69% |
| PyTorch | 10021.29 | 28.75 | 28.75 | 90% | - | - | - | - |
| PaddlePaddle | 9348.17 | 26.50 | 26.50 | 83% | 10633.22<br>bsz=224 | 10.2 | **≠ 10.28** | 32% |
| PaddlePaddle | - | - | - | - | 11617.57<br>w/DALI<br>bsz=196 | 13.1 | 13.10 | 41% |
"""


@pytest.fixture(scope="module")
def rendered(tmp_path_factory) -> list[Path]:
    return render_gallery(tmp_path_factory.mktemp("gallery"))


def test_the_committed_gallery_is_a_fresh_rendering(rendered):
    assert sorted(path.name for path in rendered) == sorted(path.name for path in FOLDER.iterdir())
    for path in rendered:
        if path.suffix != ".png":  # of which the bytes depend on the machine's zlib
            assert path.read_bytes() == (FOLDER / path.name).read_bytes(), path.name


def test_the_page_has_dlperfs_rows(rendered):
    missing = set(ROWS.strip().splitlines()) - set(rendered[0].read_text("utf-8").splitlines())
    assert not missing


def test_the_page_says_where_everything_is_from(rendered):
    text = rendered[0].read_text(encoding="utf-8")
    assert f"{published.DLPERF}/tree/{published.DLPERF_COMMIT}" in text
    assert "MindSpore/resnet50v1.5/README.md?plain=1#L375" in text
    for path in rendered[1:]:
        assert f"({path.name})" in text or path.suffix == ".png"


def test_every_finding_is_on_the_page_with_both_values(rendered):
    html = tables(rendered[0].read_text(encoding="utf-8"))
    for finding in find_disagreements():
        assert f">{finding.what}</td>" in html
        for stated in finding.stated:
            assert stated.value in html


def test_hostile_words_stay_words():
    evil = "<img src=x onerror=alert(1)> | `a` [b](javascript:c) **d**\n\n# e"
    figures = [
        msgspec.structs.replace(figure, implementation=evil, document=evil)
        for figure in published.dlperf_v1_series()[0].points.values()
    ]
    stated = (Stated(evil, (Place(evil, 1), Place(evil))),)
    page = render_page(
        published.series_of(figures), check_speedups(), [Finding("odd", evil, stated)]
    )
    html = tables(page)
    assert "<img src=x" not in html
    assert 'href="javascript' not in html
    assert "<strong>d" not in html
    assert "<h1>e" not in html
    assert "<code>a" not in html
    assert html.count("&lt;img src=x onerror=alert(1)&gt; | `a` [b](javascript:c) **d** # e") > 5


def test_every_row_of_a_table_has_its_columns(rendered):
    width = None
    for line in rendered[0].read_text(encoding="utf-8").splitlines():
        cells = line.count("|") if line.startswith("|") else None
        assert None in (width, cells) or width == cells, line
        width = cells


def tables(text: str) -> str:
    return MarkdownIt("commonmark", {"html": True}).enable("table").render(text)

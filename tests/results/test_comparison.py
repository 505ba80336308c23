import pytest
from conftest import CASE, case_like

from results.comparison import compare_with_published
from results.store import read_stored_run
from results.summary import summarise

GPU = {
    "device": "cuda",
    "batch_size": 128,
    "image_size": 224,
    "warmup": 20,
    "steps": 100,
    "threads": 1,
}


def compare(run):
    return compare_with_published(summarise(read_stored_run(run.folder)))


def test_per_device_and_in_efficiency(make_run):
    one, eight = case_like(**GPU), case_like(**GPU, devices=8)
    run = make_run([one, eight])
    run.add(one, 1, 0.2)
    run.add(eight, 1, 0.25)
    first, second = compare(run).rows
    assert first.per_device == pytest.approx(640)
    assert first.ratio == pytest.approx(640 / 348.62)
    assert second.per_device == pytest.approx(512)
    assert second.published_per_device == pytest.approx(2632.93 / 8)
    assert second.efficiency.value == pytest.approx(0.8)
    assert second.published_efficiency == pytest.approx(2632.93 / 348.62 / 8)


def test_what_is_not_comparable_is_said(make_run):
    run = make_run([CASE])
    run.add(CASE, 1, 0.5)
    text = "\n".join(compare(run).differences)
    for difference in (
        "Some CPU",
        "V100",
        "128 px; published: 224",
        "batch per device: 8",
        "3 + 10",
    ):
        assert difference in text


def test_amp_is_set_beside_another_implementation_and_that_is_said(make_run):
    case = case_like(**{**GPU, "precision": "amp", "amp_dtype": "fp16", "batch_size": 256})
    run = make_run([case])
    run.add(case, 1, 0.2)
    comparison = compare(run)
    assert comparison.rows[0].published.settings.implementation == "ngc-pytorch"
    assert "implementation: pytorch; published: ngc-pytorch" in comparison.differences


def test_a_case_that_was_not_published_has_no_ratio(make_run):
    two = case_like(devices=2)
    run = make_run([two])
    run.add(two, 1, 0.5)
    (row,) = compare(run).rows
    assert (row.published, row.ratio) == (None, None)

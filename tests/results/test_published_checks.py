"""The published figures computed again: these contradictions, and no others."""

import statistics
from collections import Counter, defaultdict

import msgspec

from results.published_checks import Place, find_disagreements
from results.published_figures import load_resnet50, load_resnet50_repeats, readme_table
from results.published_speedups import check_speedups

FINDINGS = find_disagreements()


def of_kind(kind: str) -> dict[str, list[str]]:
    return {
        one.what: [stated.value for stated in one.stated] for one in FINDINGS if one.kind == kind
    }


def test_these_kinds_were_found_and_nothing_else():
    assert Counter(one.kind for one in FINDINGS) == {
        "value": 1,
        "speedup": 2,
        "batch": 4,
        "source": 2,
        "edition": 1,
        "odd": 3,
    }


def test_one_figure_has_two_values_and_its_repeats_tell_which():
    assert of_kind("value") == {
        "throughput of ngc-mxnet fp32, batch 128, DALI, 4n8g": [
            "11331.93 images/s",
            "11233.92 images/s",
            "11331.93 images/s, the median of 7 repeats",
        ]
    }
    (finding,) = (one for one in FINDINGS if one.kind == "value")
    assert finding.stated[1].places == (Place("README.md", 122),)
    assert len(finding.stated[0].places) == 3


def test_two_speedups_are_not_the_ratio():
    assert of_kind("speedup") == {
        "speedup of paddlepaddle amp, batch 224, 4n8g": [
            "10.2 printed",
            "10.28 = 10633.22 / 1034.64",
        ],
        "speedup of ngc-mxnet fp32, batch 128, DALI, 4n8g": [
            "28.67 printed",
            "28.64 = 11233.92 / 392.24",
        ],
    }
    checks = check_speedups()
    assert len(checks) == sum(figure.speedup is not None for figure in load_resnet50())
    assert sum(not check.agrees for check in checks) == 3  # one of them stands in two places


def test_sources_and_editions():
    assert [
        [value.rsplit(" ")[-1][:8] for value in group] for group in of_kind("source").values()
    ] == [
        ["5cc03caa", "46ff3707"],
        ["49ec0bd7", "4b119d73"],
    ]
    assert of_kind("edition") == {"results of mindspore": ["present", "absent"]}


def test_oddities_are_figures_that_fall():
    values = [[value.split()[0] for value in group] for group in of_kind("odd").values()]
    assert values == [["1079.19", "1070.37"], ["6862.17", "6018.46"], ["1075.27", "1014.13"]]


def test_the_median_of_the_repeats_is_a_published_figure():
    repeats = defaultdict(list)
    for one in load_resnet50_repeats():
        key = (one.document, one.implementation, one.precision, one.dali, one.nodes)
        repeats[*key, one.devices_per_node].append(one.throughput)
    assert len(repeats) == 45
    for key, values in repeats.items():
        figures = [
            one.throughput
            for one in load_resnet50()
            if (one.document, one.implementation, one.precision, one.dali, one.nodes) == key[:-1]
            and one.devices_per_node == key[-1]
        ]
        assert any(abs(statistics.median(values) - figure) < 0.0051 for figure in figures), key


def test_a_new_contradiction_is_found():
    figures = list(load_resnet50())
    index = figures.index(readme_table()[0])
    figures[index] = msgspec.structs.replace(figures[index], throughput=12000.0)
    new = {one.what for one in find_disagreements(figures)} - {one.what for one in FINDINGS}
    assert new == {
        "throughput of oneflow fp32, batch 128, 4n8g",
        "speedup of oneflow fp32, batch 128, 4n8g",
    }


def test_nothing_published_is_no_contradiction():
    assert find_disagreements([], [], []) == []

"""What the cases of a run are called: no more than tells them from each other."""

from collections.abc import Sequence

from results.case import Case


def variant_names(cases: Sequence[Case]) -> dict[Case, str]:
    """Return the name of each case's variant: its implementation, then what else differs.

    Two cases are of one variant if only their nodes and devices differ. Strategy and backend are
    named where an implementation has several.
    """
    several = {
        implementation: [
            field
            for field in ("strategy", "backend")
            if len({getattr(c, field) for c in cases if c.implementation == implementation}) > 1
        ]
        for implementation in {case.implementation for case in cases}
    }
    return {
        case: " ".join(
            [case.implementation, *(getattr(case, field) for field in several[case.implementation])]
        )
        for case in cases
    }


def case_names(cases: Sequence[Case]) -> dict[Case, str]:
    """Return the name of each case: its label, its variant where there are several.

    Emulated nodes are called so.
    """
    variants = variant_names(cases)
    alone = len(set(variants.values())) == 1
    return {
        case: case.label
        + ("" if alone else f" {variants[case]}")
        + (" (emulated)" if case.emulated else "")
        for case in cases
    }

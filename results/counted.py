"""How a sentence says a number of things."""


def counted(number: int, thing: str) -> str:
    """Return `1 step`, `2 steps`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"

"""Which rank printed a line, from what its launcher put before it."""

import re

# `[1,3]<stdout>:` mpirun --tag-output; `[3]<stdout>:` horovodrun; `[rank3]:` torch; `[default3]:`
# torchrun --tee.
_TAG = re.compile(
    rb"\[(?:\d{1,6},)?(\d{1,6})\]<std(?:out|err)>:|\[(?:rank|default|trainer)(\d{1,6})\]:"
)
# `3: ` srun --label, at the beginning of a line.
_LABEL = re.compile(rb" {0,6}(\d{1,6}): ")
LONGEST = 120


def rank_of(before: bytes) -> int | None:
    """Return the rank that the text of a line before an entry names, or None."""
    tags = list(_TAG.finditer(before))
    found = tags[-1] if tags else _LABEL.match(before)
    return int(next(group for group in found.groups() if group)) if found else None

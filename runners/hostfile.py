"""Host files in the form that Open MPI, Horovod and DeepSpeed read: `10.0.0.2 slots=8`."""

import re
from pathlib import Path

import msgspec

from results.errors import InputError

# Names, IPv4 and IPv6 addresses; nothing that a shell or ssh could take for something else.
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}|\[?[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]+\]?")
_SLOTS = re.compile(r"(?:slots|max_slots|max-slots)=([1-9]\d{0,5})")


class Host(msgspec.Struct, frozen=True):
    """One line of a host file; `slots` is None where the line does not say."""

    name: str
    slots: int | None = None


def read_hostfile(path: Path) -> list[Host]:
    """Read a host file; `InputError` names the line that is not understood."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise InputError(f"The host file {path} cannot be read: {why}.") from error
    hosts: list[Host] = []
    for number, line in enumerate(lines, start=1):
        words = line.partition("#")[0].split()
        if words:
            hosts.append(_host(words, f"{path}:{number}", {host.name for host in hosts}))
    if not hosts:
        raise InputError(f"The host file {path} names no host: write one per line.")
    return hosts


def _host(words: list[str], where: str, known: set[str]) -> Host:
    name, options = words[0], words[1:]
    if not _HOST.fullmatch(name):
        raise InputError(f"{where}: {name!r} is not a host name or address.")
    if name in known:
        raise InputError(f"{where}: {name!r} stands there twice; name each host once.")
    slots = None
    for option in options:
        match = _SLOTS.fullmatch(option)
        if not match:
            raise InputError(f"{where}: {option!r} is not understood; write slots=N.")
        slots = slots or int(match[1])
    return Host(name, slots)

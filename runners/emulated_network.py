"""Network namespaces for nodes that are emulated on this machine: each has an address of its own.

Nothing is named or left on the machine. The namespaces hang on processes that wait for the end of
a pipe, which comes with the driver's, however that ends; with the last process in a namespace the
kernel takes away its interfaces. A user without root makes them inside a user namespace, where the
kernel allows that (user_namespaces(7)).
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from results.errors import InputError

INTERFACE = "eth0"
_NETWORK = "10.77.0."
_TOOLS = {"unshare": "util-linux", "nsenter": "util-linux", "ip": "iproute2"}


def address_of(node: int) -> str:
    """Return the address of an emulated node, which counts from 0."""
    return f"{_NETWORK}{1 + node}"


@contextmanager
def network(nodes: int) -> Iterator[list[list[str]]]:
    """Join `nodes` namespaces by a bridge; yields what goes before a command to run it on each.

    Raises `InputError` where a tool is missing or the kernel refuses.
    """
    for tool, package in _TOOLS.items():
        if not shutil.which(tool):
            raise _refused(f"{tool} is not on PATH (Debian: apt install {package})")
    with ExitStack() as stack:
        reader, writer = os.pipe()
        stack.callback(os.close, writer)
        holders: list[subprocess.Popen[bytes]] = []
        stack.callback(_end, holders)
        try:
            switch = _hold(holders, reader, [])
            _run(_inside(switch), "ip link add switch type bridge", "ip link set switch up")
            for node in range(nodes):
                host = _hold(holders, reader, _inside(switch))
                port = f"port{node}"
                _run(
                    _inside(switch),
                    f"ip link add {port} type veth peer name {INTERFACE} netns {host}",
                    f"ip link set {port} master switch up",
                )
                _run(
                    _inside(host),
                    "ip link set lo up",
                    f"ip address add {address_of(node)}/24 dev {INTERFACE}",
                    f"ip link set {INTERFACE} up",
                )
        finally:
            os.close(reader)
        yield [_inside(holder.pid) for holder in holders[1:]]


def _hold(holders: list["subprocess.Popen[bytes]"], reader: int, where: list[str]) -> int:
    """Start a process in a new network namespace; returns its id once it is there."""
    user = [] if where or os.geteuid() == 0 else ["--user", "--map-root-user"]
    holder = subprocess.Popen(
        [*where, "unshare", *user, "--net", "sh", "-c", "echo; exec cat"],
        stdin=reader,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C in a terminal is the driver's to hear
    )
    holders.append(holder)
    if not holder.stdout or not holder.stdout.read(1):
        raise _refused(holder.communicate()[1].decode(errors="replace").strip())
    return holder.pid


def _inside(holder: int) -> list[str]:
    # Only the namespaces of another user than root are in a user namespace of their own.
    user = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
    return ["nsenter", f"--target={holder}", *user, "--net", "--"]


def _run(where: list[str], *commands: str) -> None:
    for command in commands:
        done = subprocess.run(
            [*where, *command.split()], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise _refused(f"{command}: {done.stderr.strip()}")


def _end(holders: list["subprocess.Popen[bytes]"]) -> None:
    for holder in reversed(holders):
        holder.kill()
        holder.communicate()


def _refused(why: str) -> InputError:
    return InputError(
        "It needs an address for each node, and emulated nodes cannot be given one here "
        f"({why}): run as root, or on a kernel that lets users make network namespaces, or ask for "
        "NODES=1."
    )

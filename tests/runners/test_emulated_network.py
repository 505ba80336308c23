"""Network namespaces for real: made, talked across, gone."""

import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from results.errors import InputError
from runners import emulated_network
from runners.emulated_network import address_of, network

LISTEN = """
import socket
with socket.create_server(("", 7000)) as server:
    print("ready", flush=True)
    peer, (address, _) = server.accept()
    print(address)
"""
CALL = "import socket, sys; socket.create_connection((sys.argv[1], 7000), 10)"


@pytest.fixture(scope="module", autouse=True)
def allowed():
    try:
        with network(1):
            pass
    except InputError as error:
        pytest.skip(f"this machine gives nodes no addresses of their own: {error}")


def interfaces():
    return Path("/proc/net/dev").read_text().count(":")


def test_nodes_reach_each_other_by_addresses_of_their_own():
    before = interfaces()
    with network(2) as (first, second):
        listener = subprocess.Popen(
            [*first, sys.executable, "-c", LISTEN], stdout=subprocess.PIPE, text=True
        )
        assert listener.stdout.readline() == "ready\n"
        subprocess.run([*second, sys.executable, "-c", CALL, address_of(0)], check=True)
        assert listener.communicate(timeout=60)[0] == f"{address_of(1)}\n"
        names = subprocess.run(
            [*first, "cat", "/proc/net/dev"], capture_output=True, text=True, check=True
        )
        assert re.findall(r"(\w+):", names.stdout) == ["lo", "eth0"]
        assert interfaces() == before  # nothing is put into the machine's own network


def children(pid):
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def test_nothing_is_left_when_the_driver_is_killed():
    program = textwrap.dedent("""
        from runners.emulated_network import network
        with network(2):
            print("up", flush=True)
            input()
    """)
    driver = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert driver.stdout.readline() == "up\n"
    held = children(driver.pid)
    assert len(held) == 3
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    deadline = time.monotonic() + 60
    while any(Path(f"/proc/{pid}").exists() for pid in held) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(Path(f"/proc/{pid}").exists() for pid in held)


def test_nothing_is_left_after_it():
    before = set(children(os.getpid()))
    with network(2):
        assert len(set(children(os.getpid())) - before) == 3
    assert not set(children(os.getpid())) - before


def test_a_tool_that_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(emulated_network.shutil, "which", lambda tool: tool != "ip" or None)
    with pytest.raises(InputError, match=r"ip is not on PATH .*iproute2"), network(1):
        pass


def test_what_the_kernel_refuses_is_told(monkeypatch):
    monkeypatch.setattr(emulated_network, "address_of", lambda _: "nonsense")
    with pytest.raises(InputError, match=r"ip address add nonsense.*run as root"), network(1):
        pass

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from results.errors import InputError
from runners.hostfile import Host, read_hostfile


@pytest.fixture
def read(tmp_path):
    def write_and_read(text):
        (tmp_path / "hosts").write_text(text)
        return read_hostfile(tmp_path / "hosts")

    return write_and_read


@pytest.mark.parametrize(
    ("line", "host"),
    [
        ("node1", Host("node1")),
        ("10.0.0.2 slots=8", Host("10.0.0.2", 8)),
        ("  node-1.cluster_a.org\tslots=4  # rack 3", Host("node-1.cluster_a.org", 4)),
        ("node1 slots=4 max_slots=8", Host("node1", 4)),
        ("node1 max-slots=2", Host("node1", 2)),
        ("fd00::1 slots=8", Host("fd00::1", 8)),
        ("[fd00::1]", Host("[fd00::1]")),
    ],
)
def test_a_line(read, line, host):
    assert read(f"{line}\n") == [host]


def test_hosts_keep_their_order_and_empty_lines_and_comments_are_passed_over(read):
    text = "# the cluster\n\nb slots=2\r\n   \n  # a is down\na\n"
    assert read(text) == [Host("b", 2), Host("a")]


def test_a_last_line_without_an_end(read):
    assert read("a\nb") == [Host("a"), Host("b")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a\n$(touch x)\n", "hosts:2: '$(touch' is not a host name or address"),
        ("-oProxyCommand=x", "hosts:1: '-oProxyCommand=x' is not a host"),
        ("user@host", "hosts:1: 'user@host' is not a host"),
        ("a;b", "hosts:1: 'a;b' is not a host"),
        ("a slots=0", "hosts:1: 'slots=0' is not understood"),
        ("a slots=4 color=red", "hosts:1: 'color=red' is not understood"),
        ("a\na slots=2", "hosts:2: 'a' stands there twice"),
        ("", "names no host"),
        ("#a", "names no host"),
    ],
)
def test_what_is_not_understood_is_named_with_its_line(read, text, said):
    with pytest.raises(InputError) as caught:
        read(text)
    assert said in str(caught.value)


NAMES = st.from_regex(r"[a-z][a-z0-9.-]{0,20}", fullmatch=True)
HOSTS = st.builds(Host, NAMES, st.none() | st.integers(1, 999_999))


@given(st.lists(HOSTS, min_size=1, unique_by=lambda host: host.name))
def test_what_is_written_is_read(tmp_path_factory, hosts):
    path = tmp_path_factory.getbasetemp() / "written"
    lines = [f"{h.name} slots={h.slots}" if h.slots else h.name for h in hosts]
    path.write_text("\n".join(lines))
    assert read_hostfile(path) == hosts


@given(st.binary() | st.text().map(str.encode))
@example("host\x85other".encode())
@example("a slots=٣".encode())
def test_any_bytes_give_plain_hosts_or_one_sentence(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(content)
    hosts, said = [], ""
    try:
        hosts = read_hostfile(path)
    except InputError as error:
        said = str(error)
    assert bool(hosts) != bool(said)
    assert "\n" not in said
    assert all(re.fullmatch(r"[0-9A-Za-z\[:.][0-9A-Za-z._:\]-]*", host.name) for host in hosts)

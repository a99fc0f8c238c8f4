"""The whole of dowse, watched from outside: what it connects to, and which files it writes.

Libraries in C or Rust reach the network and the disk where Python's audit hooks see nothing. So
one test reads the system calls of every process, and another one the counters of the system.
"""

from __future__ import annotations

import ipaddress
import itertools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import offline_day
from dowse._embed.open import Session
from dowse.errors import EmbedError
from gates import find_tool
from powerloss.trace import require_strace

_CHANGES = (
    "open,openat,openat2,creat,mkdir,mkdirat,mknod,mknodat,rename,renameat,renameat2,link,linkat,"
    "symlink,symlinkat,unlink,unlinkat,rmdir,truncate,chmod,fchmodat,chown,lchown,fchownat,"
    "utimensat,setxattr"
)
_SENDS = "bind,connect,sendto,sendmsg,sendmmsg"
_CALL = re.compile(r"(?P<pid>\d+) +(?P<name>\w+)\((?P<arguments>.*)")
_PATH = re.compile(r'(?:(?:AT_FDCWD|\d+)<(?P<folder>[^>]*)>, )?"(?P<path>(?:[^"\\]|\\.)*)"')
_SOCKET = re.compile(r'sun_path=@?"(?P<path>[^"]*)"')
_PLACE = re.compile(r'sin6?_port=htons\((?P<port>\d+)\).*?"(?P<address>[\da-f.:]+)"')
_WRITES = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC")
_RESOLVER = 53
_DEVICES = {"/dev/null", "/dev/tty"}

# Runs a line in a namespace whose only interface is the loopback one, which must first be up.
# What the line then tried to send is in the counters of the namespace, whoever in it has tried.
_ALONE = """
import fcntl, socket, struct, subprocess, sys
from pathlib import Path
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
with socket.socket() as one:
    fcntl.ioctl(one, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
done = subprocess.run(sys.argv[1:], stdout=sys.stderr)
print(Path("/proc/net/snmp").read_text(), Path("/proc/net/snmp6").read_text())
sys.exit(done.returncode)
"""


@pytest.fixture
def environment(home: Path) -> Mapping[str, str]:
    """The user's, who has set nothing for any library; the model is the default one."""
    for name in ("temp", "own"):
        (home / name).mkdir()
    chosen = {
        "DOWSE_EMBED_PROVIDER": "local",
        "TMPDIR": str(home / "temp"),
        "PYTHONDONTWRITEBYTECODE": "1",  # Python writes its own files next to a package
        "PYTHONPATH": str(Path(__file__).parents[1]),
    }
    unset = re.compile(r"ORT_|HF_|XDG_|DO_NOT_TRACK|DISABLE_TELEMETRY|GRPC_|OTEL_")
    return {name: value for name, value in os.environ.items() if not unset.match(name)} | chosen


@pytest.fixture
def pages(vault: Path) -> Path:
    """The vault with a page that another process converts, with libraries of its own."""
    (vault / "page.html").write_text("<html><body><h1>Page</h1><p>Rain.</p></body></html>")
    return vault


def _day(vault: Path, environment: Mapping[str, str], *around: str) -> str:
    """Runs a day of commands inside another program; what they said."""
    line = [*around, sys.executable, offline_day.__file__, str(vault)]
    done = subprocess.run(
        line, env=environment, capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def _calls(log: Path) -> Iterator[tuple[str, str]]:
    """The calls of all processes but the first, which adds a document; also those that failed."""
    calls = [match for line in log.read_text().splitlines() if (match := _CALL.match(line))]
    yield from ((one["name"], one["arguments"]) for one in calls if one["pid"] != calls[0]["pid"])


def _changed(name: str, arguments: str) -> Iterator[str]:
    """The paths that a call creates, changes or removes."""
    if name.startswith("open") and not _WRITES.search(arguments):
        return
    for match in _PATH.finditer(arguments):
        yield os.path.normpath(os.path.join(match["folder"] or "?", match["path"]))  # noqa: PTH118


def _is_outside(arguments: str, home: Path) -> bool:
    """Whether a call names another machine, all of this one's addresses, or a resolver."""
    if socket := _SOCKET.search(arguments):
        return not socket["path"].startswith(str(home))
    place = _PLACE.search(arguments)
    if place is None:  # a socket that is connected already
        return "AF_INET" in arguments
    loopback = ipaddress.ip_address(place["address"]).is_loopback
    return not loopback or int(place["port"]) == _RESOLVER


def test_nothing_is_looked_up_or_sent_and_only_dowses_folders_are_written(
    home: Path, pages: Path, environment: Mapping[str, str]
) -> None:
    require_strace()
    log = home / "strace"
    kinds = ",".join(f"?{name}" for name in f"{_CHANGES},{_SENDS}".split(","))
    options = ["-f", "-y", "-qq", "-s", "4096", "--seccomp-bpf", "-e", f"trace={kinds}"]
    _day(pages, environment, str(find_tool("strace")), *options, "-o", str(log))
    calls = list(_calls(log))
    sent = [call for call in calls if call[0] in _SENDS.split(",")]
    assert any('inet_addr("127.0.0.1")' in call[1] for call in sent), "the server was not traced"
    assert [call for call in sent if _is_outside(call[1], home)] == []
    assert [call for call in calls if "/etc/resolv.conf" in call[1]] == []
    written = {path for call in calls if call not in sent for path in _changed(*call)}
    assert any(path.endswith("index.db") for path in written), "no write was traced"
    own = tuple(f"{home}/{name}" for name in ("own/config", "own/data", "own/cache", "temp"))
    assert sorted(path for path in written - _DEVICES if not path.startswith(own)) == []


def test_all_works_without_a_network_and_nothing_tries_to_use_one(
    pages: Path, environment: Mapping[str, str]
) -> None:
    alone = ["unshare", "--map-root-user", "--net"]
    if shutil.which("unshare") is None or subprocess.run([*alone, "true"], check=False).returncode:
        pytest.skip("this machine lets nobody make a network namespace")
    told = _day(pages, environment, *alone, sys.executable, "-c", _ALONE)
    counters = dict(_counters(told))
    assert counters["Tcp:ActiveOpens"] == 1, "the one request to the server"
    assert counters["Udp:OutDatagrams"] == counters["Udp6OutDatagrams"] == 0
    assert counters["Ip:OutNoRoutes"] == counters["Ip6OutNoRoutes"] == 0


@pytest.mark.parametrize(
    ("chosen", "used"), [(None, "1"), ("", "1"), ("yes", "1"), ("0", "0"), ("false", "false")]
)
def test_importing_dowse_turns_telemetry_off_unless_the_user_has_chosen(
    chosen: str | None, used: str, environment: Mapping[str, str]
) -> None:
    given = {**environment} | ({} if chosen is None else {"ORT_DISABLE_TELEMETRY": chosen})
    program = "import dowse, os; print(os.environ['ORT_DISABLE_TELEMETRY'])"
    line = [sys.executable, "-c", program]
    done = subprocess.run(line, env=given, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == used


@pytest.mark.parametrize(("chosen", "calls"), [("1", 1), ("0", 0)])
def test_a_program_that_loaded_onnxruntime_first_sends_nothing_of_dowses_sessions(
    chosen: str, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    turned_off: list[bool] = []
    monkeypatch.setenv("ORT_DISABLE_TELEMETRY", chosen)
    monkeypatch.setattr("onnxruntime.disable_telemetry_events", lambda: turned_off.append(True))
    with pytest.raises(EmbedError):
        Session(Path("no graph"), "mean", is_fused=True)
    assert len(turned_off) == calls


def _counters(told: str) -> Iterator[tuple[str, int]]:
    """The counters of the system by name: IPv4 has rows of names and of values, IPv6 has pairs."""
    rows = [line.split() for line in told.splitlines()]
    for names, values in itertools.pairwise(rows):
        if len(names) > 2 and names[0] == values[0]:
            pairs = zip(names[1:], values[1:], strict=True)
            yield from ((names[0] + name, int(value)) for name, value in pairs if value.isdigit())
    yield from ((row[0], int(row[1])) for row in rows if len(row) == 2)

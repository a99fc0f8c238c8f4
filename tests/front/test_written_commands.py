"""Every command in README and docs runs as it is written, and finds things in the sample vault."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from command_line import Dowse
from dowse._interfaces.cli.main import cli
from dowse._interfaces.http.security import Access
from dowse._interfaces.http.server import application
from dowse._project.pool import EnginePool
from dowse._project.workspace import Given, Workspace
from reference import root_context
from rows import check_rows

_ROOT = Path(__file__).parents[2]
_PAGES = (_ROOT / "README.md", *sorted((_ROOT / "docs").glob("*.md")))
_FENCED = re.compile(r"^```(?:bash|sh)?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"(?<!`)`(dowse [a-z][^`]*)`(?!`)")
_FILLED_IN = re.compile(
    r"\b[A-Z]{3,}\b|\w\|\w|\[OPTIONS\]|…|, get"
)  # what readers write themselves
_SHELL = frozenset({"|", ">", ">>", "&&"})
_WAITING = ("serve", "mcp", "watch")  # they are tried as processes in tests of their own
_ELSEWHERE = {
    "open": "starts an editor: tests/front/test_open.py",
    "models": "needs a network: tests/front/test_models.py",
    "move": "needs a database: tests/unit/store/test_shared.py",
    "completion": "writes for a shell: tests/front/test_completion.py",
    "eval": "takes long: tests/front/test_eval.py",
    "tune": "takes long: tests/front/test_tune.py",
    "skill": "writes for a client: tests/front/mcp/test_install.py",
    "project move": "needs a folder that has moved: tests/front/test_projects.py",
    "project restore": "needs a project that is broken: tests/unit/test_restore.py",
}
_CHANGING = frozenset({"index", "config", "project", "reset", "import", "export", "doctor"})
_FINDING = frozenset({"search", "answer", "explain", "related", "get", "ls", "tags", "recent"})


def _blocks() -> Iterator[tuple[list[str], bool]]:
    """The commands of each block of each page, and of each help; and whether a text names them."""
    for page in _PAGES:
        text = page.read_text("utf-8")
        yield from ((block.splitlines(), False) for block in _FENCED.findall(text))
        named = {" ".join(one.split()) for one in _INLINE.findall(_FENCED.sub("", text))}
        yield from (([one], True) for one in sorted(named))
    context = root_context()
    for command in (cli, *(cli.get_command(context, name) for name in cli.list_commands(context))):
        yield f"{command and command.epilog}".splitlines(), False


def _words(line: str) -> list[str]:
    """What a shell makes of a line, without the name of the program, and without remarks."""
    words = shlex.split(re.split(r"\s{2,}", line)[0], comments=True)
    end = next((place for place, word in enumerate(words) if word in _SHELL), None)
    return words[1:end]


@pytest.fixture
def given() -> Given:
    return Given()


@pytest.fixture
def vault(home: Path, monkeypatch: pytest.MonkeyPatch, dowse: Dowse) -> Path:
    """The sample vault, indexed with the model that ships, and what the pages mention besides."""
    monkeypatch.delenv("DOWSE_EMBED_PROVIDER")
    shutil.copytree(_ROOT / "examples/vault", home / "notes")
    for name in ("a", "b", "vault", "handbook", "notes/notes"):
        (home / name).mkdir()
        (home / name / "one.md").write_text("# One\n\nA note of one line.\n", "utf-8")
    monkeypatch.chdir(home / "notes")
    assert dowse("index").code == 0
    assert dowse("index", home / "handbook", "-p", "work").code == 0
    assert dowse("export", home / "notes.dowse", "-p", "notes").code == 0
    (home / "notes/dowse.toml").write_text('[project]\nname = "notes"\n', "utf-8")
    shutil.copytree(home / "own", home / "before")
    return home / "notes"


@pytest.mark.usefixtures("vault")
def test_every_command_runs_and_finds_something(home: Path, dowse: Dowse) -> None:
    def run(line: str, named: bool) -> None:
        words = [word.replace("~/", f"{home}/") for word in _words(line)]
        place = " ".join(words[:2])
        if _FILLED_IN.search(line) or words[0] in {*_WAITING, *_ELSEWHERE} or place in _ELSEWHERE:
            known = [word for word in words[:1] if not word.isupper()]
            assert dowse(*known, "--help").code == 0, line
            return
        more = ["--fail-on-empty"] if words[0] == "search" and "--" not in words else []
        more = ["--yes"] if words[0] == "reset" else more
        if words[0] == "import" and not {"-p", "--replace"} & set(words):
            dowse("project", "remove", "notes", "--yes")  # as on a machine that has no such project
        if words[0] == "export":  # a file that is there already is not overwritten
            Path(words[-1]).unlink(missing_ok=True)
        result = dowse(*words, *more)
        if named and result.code == 2:
            result = dowse(*words, "--help")  # it only names a command and its options
        assert result.code == 0, f"{result.code} {result.out}{result.err}"
        if words[0] in _FINDING:
            assert result.out, result.err

    def check(block: tuple[list[str], bool]) -> None:
        lines, named = block
        own = [line.strip() for line in lines if line.strip().startswith("dowse ")]
        for line in own:
            run(line, named)
        if any(_words(line)[0] in _CHANGING for line in own):
            shutil.rmtree(home / "own")
            shutil.copytree(home / "before", home / "own")

    check_rows(_blocks(), check)


def test_every_request_in_the_docs_is_answered_outside_of_all_projects(
    vault: Path, home: Path, workspace: Workspace
) -> None:
    assert vault.parent == home
    page = (_ROOT / "docs/http.md").read_text("utf-8")
    addresses = re.findall(r'^curl "http://127.0.0.1:7333([^"]+)"$', page, re.MULTILINE)
    assert len(addresses) >= 7
    pool = EnginePool(workspace, home)
    app = application(pool, Access(), watch=False)
    with TestClient(app, base_url="http://127.0.0.1:7333") as client:
        answers = {address: client.get(address) for address in addresses}
    pool.close()
    assert {one: got.text for one, got in answers.items() if got.status_code != 200} == {}
    for address, got in answers.items():
        if "/search" in address or "/answer" in address:
            assert got.json()["hits"], address
            assert not got.json()["no_good_match"], address

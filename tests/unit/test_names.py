"""Names in the source mean one thing each."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

_SOURCE = Path(__file__).parents[2] / "src" / "dowse"
_SAME_BY_DESIGN = {"DowseRetriever"}  # each framework has one, and its users look for this name


def test_no_class_name_means_two_things() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for path in sorted(_SOURCE.rglob("*.py")):
        for node in ast.parse(path.read_bytes()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(path.relative_to(_SOURCE).as_posix())
    assert len(homes) > 300
    shared = {name: files for name, files in homes.items() if len(files) > 1}
    assert set(shared) == _SAME_BY_DESIGN, shared

"""What an adapter says when its extra is not installed."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("adapter", "package"), [("langchain", "langchain_core"), ("llamaindex", "llama_index")]
)
def test_an_adapter_says_which_extra_it_needs(adapter: str, package: str) -> None:
    program = (
        "import sys\n"
        f"sys.modules[{package!r}] = None\n"  # as if it were not installed
        f"try:\n    import dowse.integrations.{adapter}\n"
        "except ImportError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert f"dowse.integrations.{adapter} needs the package {package}" in done.stdout
    assert f"pip install 'dowse-search[{adapter}]'" in done.stdout

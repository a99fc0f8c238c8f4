"""The Kubernetes example: what it asks of dowse exists, and its parts fit together."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from dowse._config.schema import combine, from_environment
from dowse._interfaces.cli.main import cli

_FILE = Path(__file__).parents[2] / "examples" / "kubernetes" / "dowse.yaml"
_PARTS: list[dict[str, Any]] = list(yaml.safe_load_all(_FILE.read_text("utf-8")))
_BY_NAME = {(part["kind"], part["metadata"]["name"]): part for part in _PARTS}


def _containers() -> list[dict[str, Any]]:
    found = []
    for part in _PARTS:
        pod = part.get("spec", {}).get("template", {}).get("spec", {})
        found += [*pod.get("initContainers", []), *pod.get("containers", [])]
    return found


def _lines() -> list[list[str]]:
    """What each container runs, without the name of the program."""
    lines = []
    for container in _containers():
        if container.get("command") == ["sh", "-c"]:
            written = container["args"][0].replace("$((JOB_COMPLETION_INDEX + 1))", "3")
            lines.append(shlex.split(written)[1:])
        else:
            lines.append(container["args"])
    return lines


@pytest.mark.parametrize("line", _lines(), ids=" ".join)
def test_every_line_is_one_that_dowse_understands(line: list[str]) -> None:
    command: click.Command = cli
    context = click.Context(cli)
    while isinstance(command, click.Group):
        found = command.get_command(context, line[0])
        assert found is not None, line
        command, line = found, line[1:]
    command.make_context("dowse", list(line), resilient_parsing=False, parent=context)


def test_the_settings_of_the_example_are_settings_of_dowse() -> None:
    values = _BY_NAME["ConfigMap", "dowse"]["data"]
    layer = from_environment(values)
    assert len(layer.values) == len(values)
    settings, _ = combine([layer])
    assert settings.store.database["dbname"] == "dowse"
    engine = settings.store.engine
    assert engine is not None
    assert engine.kind == "milvus"
    assert settings.store.build_values == {"M": 16, "efConstruction": 200}


def test_every_shard_is_indexed_once() -> None:
    job = _BY_NAME["Job", "dowse-index"]["spec"]
    written = job["template"]["spec"]["containers"][0]["args"][0]
    (count,) = re.findall(r"\)\)/(\d+)", written)
    assert (job["completionMode"], job["completions"]) == ("Indexed", int(count))


def test_selectors_ports_and_volumes_fit_together() -> None:
    serve = _BY_NAME["Deployment", "dowse-serve"]["spec"]
    labels = serve["template"]["metadata"]["labels"]
    service = _BY_NAME["Service", "dowse"]["spec"]
    assert serve["selector"]["matchLabels"] == service["selector"] == labels
    ports = {port["name"] for port in serve["template"]["spec"]["containers"][0]["ports"]}
    assert {port["targetPort"] for port in service["ports"]} <= ports
    for part in _PARTS:
        pod = part.get("spec", {}).get("template", {}).get("spec")
        if pod:
            mounted = {mount["name"] for one in pod["containers"] for mount in one["volumeMounts"]}
            assert mounted == {volume["name"] for volume in pod["volumes"]}

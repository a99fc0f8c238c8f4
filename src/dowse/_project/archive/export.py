"""Export: write the index of a project into one file."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

from msgspec import Struct

from dowse._embed.open import known_models
from dowse._embed.options import EmbedOptions
from dowse._embed.recipes import full_name
from dowse._model import Announce, Stamp, silent
from dowse._project.archive.archive import pack
from dowse._project.outputs import check_output, output_file
from dowse._project.registry import Project
from dowse._project.stamp import takes_vectors
from dowse._project.workspace import Workspace
from dowse.errors import NotFound


class ExportRecord(Struct, frozen=True):
    """What `dowse export` wrote."""

    project: Annotated[str, "Name of the project."]
    file: Annotated[str, "The file, absolute."]
    bytes: Annotated[int, "Its size."]
    documents: Annotated[int, "How many it holds."]
    chunks: Annotated[int, "How many it holds."]
    vectors: Annotated[int, "Chunks that have one."]
    notices: Annotated[tuple[str, ...], "What is missing, and how to change that."]


def export_project(
    workspace: Workspace,
    project: Project,
    file: Path,
    *,
    overwrite: bool = False,
    announce: Announce = silent,
) -> ExportRecord:
    """Write a project's index into one file, whole or not at all, outside of all roots."""
    file = check_output(workspace, file, force=overwrite)  # before anything takes long
    settings = workspace.settings(project).settings
    parts = workspace.parts(project, settings, announce)
    with (
        closing(parts.store),
        parts.store.read() as reader,
        output_file(workspace, file, force=overwrite) as target,
    ):
        stamp = reader.catalogue.stamp()
        if stamp is None:
            raise NotFound(
                f"The project {project.name!r} has not been indexed yet.",
                f"Index it with: dowse index -p {project.typed}",
            )
        manifest = pack(
            reader,
            stamp,
            target,
            announce,
            project=project.name,
            roots=tuple(root.name for root in project.named_roots),
            embed=_embed(stamp, settings.embed),
            vocabulary=settings.learned_words,
        )
    missing = manifest.chunks - manifest.vectors
    notices = (
        f"{missing:,} of {manifest.chunks:,} chunks have no vectors."
        f" Make them first with: dowse index -p {project.typed}"
    )
    return ExportRecord(
        project=project.name,
        file=str(file),
        bytes=file.stat().st_size,
        documents=manifest.documents,
        chunks=manifest.chunks,
        vectors=manifest.vectors,
        notices=(notices,) if missing and takes_vectors(stamp) else (),
    )


def _embed(stamp: Stamp, options: EmbedOptions) -> dict[str, str]:
    """Read the settings of the model, if it is one that dowse knows by heart.

    Folders and endpoints mean something else on another machine, and nobody should be made to send
    texts to an address that a file names.
    """
    name = full_name(options.model)
    if not takes_vectors(stamp) or options.provider != "local" or name not in known_models():
        return {}
    return {"model": name, "precision": options.precision}

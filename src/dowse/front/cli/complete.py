"""What a shell may complete an argument with; nothing where there is nobody to ask."""

from __future__ import annotations

import click

from dowse.errors import DowseError
from dowse.front.cli.call import Call


def document_ids(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Ids of documents; none when there is no index to ask."""
    try:
        with context.find_root().ensure_object(Call).open() as engine:
            ids = [entry.id for entry in engine.documents()]
    except DowseError:
        return []
    return [one for one in ids if one.startswith(incomplete)]


def setting_names(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Names of all settings."""
    from dowse.settings import known_settings  # noqa: PLC0415  --help does not need it

    return [name for name in known_settings() if name.startswith(incomplete)]

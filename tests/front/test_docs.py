"""The reference cannot drift: it is what the code says, word for word."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

import http_reference
from dowse._config.schema import known_settings
from dowse._interfaces.cli.main import TOPICS, cli
from reference import pages, root_context

_DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", ["commands.md", "settings.md"])
def test_the_page_is_what_the_code_says(name: str) -> None:
    assert (_DOCS / name).read_text("utf-8") == pages()[name], "run: make docs"


@pytest.mark.parametrize("name", ["openapi.json", "api.html"])
def test_the_server_describes_what_its_routes_do(name: str) -> None:
    assert (http_reference.FOLDER / name).read_text("utf-8") == http_reference.files()[name], (
        "run: make docs"
    )


def _commands(group: click.Group, context: click.Context) -> list[tuple[str, click.Command]]:
    found: list[tuple[str, click.Command]] = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context)
        found.append((inner.command_path, command))
        if isinstance(command, click.Group):
            found += _commands(command, inner)
    return found


def test_every_command_and_option_is_documented() -> None:
    page = (_DOCS / "commands.md").read_text("utf-8")
    for path, command in _commands(cli, root_context()):
        assert f"### {path}\n" in page
        for option in command.params:
            for name in option.opts if isinstance(option, click.Option) else ():
                assert name in page


def test_every_setting_is_documented_and_explains_itself() -> None:
    page = (_DOCS / "settings.md").read_text("utf-8")
    for name, setting in known_settings().items():
        assert f"| `{name}` |" in page
        assert setting.meaning.endswith("."), name


def test_the_help_lists_what_commands_say_of_themselves() -> None:
    context = root_context()
    for topic in TOPICS.values():
        for name, summary in topic.items():
            command = cli.get_command(context, name)
            assert command is not None
            assert (command.help or "").strip().split("\n\n")[0].strip() == summary

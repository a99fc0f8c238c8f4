"""Write the reference of commands and settings from the code: `make docs`."""

from __future__ import annotations

import sys
import types
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import click
import msgspec

from dowse._config.schema import SECTIONS, Setting, known_settings
from dowse._interfaces.cli.call import Command, global_options
from dowse._interfaces.cli.commands.project import as_toml
from dowse._interfaces.cli.main import TOPICS, cli
from dowse._util.bounds import ALWAYS, consent, limits

_GENERATED = "<!-- Written by `make docs` from the code: change the code, not this page. -->"


def root_context() -> click.Context:
    """The context that a call of dowse begins with."""
    return click.Context(cli, info_name="dowse", **cli.context_settings)


def commands_page() -> str:
    """The reference of commands, in Markdown."""
    root = root_context()
    parts = [
        "# Commands",
        _GENERATED,
        (
            "Every command takes the options of the last section, before or after its name."
            " `dowse COMMAND --help` says what each option means, with examples."
        ),
    ]
    for heading, topic in TOPICS.items():
        parts.append(f"## {heading}")
        for name in topic:
            parts += _command(root, name)
    parts += ["## Options of every command", _table(_option_rows(global_options(), root))]
    parts += ["## Errors", _ERRORS, _EXIT_CODES, "## Environment", _ENVIRONMENT]
    return "\n\n".join(parts) + "\n"


def settings_page() -> str:
    """The reference of settings, in Markdown."""
    consents = _consents(known_settings())
    parts = ["# Settings", _GENERATED, _SETTINGS.replace("{consents}", consents)]
    for section in SECTIONS:
        rows = [
            (f"`{name}`", _code(as_toml(setting.default)), _limited(setting), setting.meaning)
            for name, setting in known_settings().items()
            if name.startswith(f"{section}.")
        ]
        parts += [f"## {section}", _table([("setting", "default", "type", "meaning"), *rows])]
    parts += ["## Example", _example(known_settings())]
    return "\n\n".join(parts) + "\n"


def pages() -> dict[str, str]:
    """Both pages, by file name."""
    return {"commands.md": commands_page(), "settings.md": settings_page()}


def _command(parent: click.Context, name: str) -> Iterator[str]:
    group = parent.command
    command = group.get_command(parent, name) if isinstance(group, click.Group) else None
    if command is None:
        raise LookupError(name)
    context = click.Context(command, info_name=name, parent=parent)
    yield f"### {context.command_path}"
    yield _first_paragraph(command.help or "")
    if isinstance(command, click.Group):
        for one in command.list_commands(context):
            yield from _command(context, one)
        return
    usage = " ".join(command.get_usage(context).removeprefix("Usage: ").split())
    yield f"```bash\n{usage}\n```"
    own = [one for one in command.params if one.expose_value]
    if options := [names for names, _ in _option_rows(own, context)[1:]]:
        yield f"Options: {', '.join(options)}."
    if older := [_code(one.opts[0]) for one in own if getattr(one, "hidden", False)]:
        yield f"Other names that work: {', '.join(older)}."
    if isinstance(command, Command) and command.record is not None:
        yield f"Fields of `--json`: {', '.join(_code(name) for name in _fields(command.record))}."


def _first_paragraph(text: str) -> str:
    return " ".join(text.strip().split("\n\n")[0].split())


def _option_rows(
    params: typing.Sequence[click.Parameter], context: click.Context
) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("option", "meaning")]
    for one in params:
        record = one.get_help_record(context) if isinstance(one, click.Option) else None
        if record is not None:
            names, _, value = record[0].partition("  ")
            rows.append((_code(f"{names} {value}".strip()), record[1]))
    return rows


def _fields(record: type, prefix: str = "", listed: set[type] | None = None) -> Iterator[str]:
    """Name every field of what --json prints; those of a record inside it, where it comes first."""
    listed = set() if listed is None else listed
    for field in msgspec.structs.fields(record):
        name, bare = field.encode_name, field.type.__origin__
        inner = bare if isinstance(bare, type) else get_args(bare)[0]
        if inner in listed or not _explains_its_fields(inner):
            yield f"{prefix}{name}"
        else:
            listed.add(inner)
            dots = "[]." if get_origin(bare) is tuple else "."
            yield from _fields(inner, f"{prefix}{name}{dots}", listed)


def _explains_its_fields(record: Any) -> bool:
    if not msgspec.inspect.is_struct_type(record):
        return False
    hints = get_type_hints(record, include_extras=True).values()
    return all(get_origin(hint) is Annotated for hint in hints)


def _kind(hint: Any) -> str:
    """A type in the words of JSON."""
    hint = hint.__origin__ if get_origin(hint) is Annotated else hint
    plain = {str: "text", int: "integer", float: "number", bool: "true or false", Any: "any"}
    if hint in plain:
        return plain[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return " or ".join(_code(str(one) or '""') for one in arguments)
    if origin is tuple:
        return f"list of {_kind(arguments[0])}"
    if origin in {types.UnionType, typing.Union}:
        return " or ".join("null" if one is type(None) else _kind(one) for one in arguments)
    if msgspec.inspect.is_struct_type(hint) and not _explains_its_fields(hint):
        return "object of " + ", ".join(_code(one.name) for one in msgspec.structs.fields(hint))
    return "object"


def _limited(setting: Setting) -> str:
    """The type of a setting with the limits of its value."""
    kind, found = _kind(setting.type), limits(setting.declared)
    if found is None:
        return kind
    if found.max_length is not None:
        return f"{kind}, at most {found.max_length:,}"
    least = f"above {found.gt:,} to" if found.gt is not None else f"{found.ge:,} to"
    return f"{kind}, {least} {found.le:,}"


def _consents(settings: Mapping[str, Setting]) -> str:
    """Which settings of a dowse.toml wait for consent, and when."""
    rows = [
        (f"`{name}`", rule.when)
        for name, setting in settings.items()
        if (rule := consent(setting.declared)) and rule is not ALWAYS
    ]
    return _table([("setting", "needs consent"), *rows])


def _table(rows: typing.Sequence[tuple[str, ...]]) -> str:
    head, *body = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _example(settings: Mapping[str, Setting]) -> str:
    lines = [f"# {settings['search.top_n'].meaning}", "[search]", "top_n = 10"]
    return "```toml\n" + "\n".join(lines) + "\n```"


_ERRORS = """\
An error is one line on standard error that begins with `dowse:`, and one that says what to do next.
With `--json` it is `{"error": "…", "hint": "…"}` on standard output instead.
The exit code says what kind of error it was:"""

_EXIT_CODES = _table(
    [
        ("code", "meaning"),
        ("0", "Fine."),
        (
            "1",
            "Failed; the message says why. `doctor`: there is a problem; `search`: no result.",
        ),
        ("2", "The call cannot mean anything, names something unknown, or was refused."),
        ("3", "`dowse index`: indexed, but some files were left out."),
        ("4", "The index cannot serve: built with other settings, or damaged."),
        ("5", "Another process is writing to the index."),
        ("70", "A bug in dowse."),
        ("130", "Interrupted with Ctrl-C."),
        ("141", "The reader of the output has closed it."),
    ]
)

_ENVIRONMENT = _table(
    [
        ("variable", "meaning"),
        ("`DOWSE_PROJECT`", "The project, as `-p` gives it."),
        ("`DOWSE_CONFIG_DIR`", "Where your settings are; else by the XDG rules."),
        ("`DOWSE_DATA_DIR`", "Where projects and their indexes are; else by the XDG rules."),
        ("`DOWSE_CACHE_DIR`", "Where model weights are; else by the XDG rules."),
        ("`DOWSE_SECTION_NAME`", "Any setting: `DOWSE_SEARCH_TOP_N` is `search.top_n`."),
        ("`DOWSE_NO_SERVER`", "Any value but 0: no command asks a running `dowse serve`."),
        ("`DOWSE_TOKEN`", "What requests to `dowse serve` must send, as `--token` gives it."),
        ("`DOWSE_DEBUG`", "Show the traceback of an error."),
        ("`NO_COLOR`, `TERM=dumb`, `CLICOLOR=0`", "No colours."),
        ("`FORCE_COLOR`, `CLICOLOR_FORCE`", "Colours also where nobody seems to look."),
    ]
)

_SETTINGS = """\
Settings come from several places. From weakest to strongest:

1. the defaults below,
2. your own `config.toml` (`dowse config set NAME VALUE`),
3. a `dowse.toml` in the folder of the documents or above it,
4. what you have set for a project (`dowse config set -p PROJECT NAME VALUE`),
5. the environment: `DOWSE_CHUNK_OVERLAP` is `chunk.overlap`; lists are separated by commas,
6. options of the command.

`dowse config show` says which value is used and where it comes from.

A `dowse.toml` may also name the project and its folders:

```toml
[project]
name = "handbook"
roots = ["docs", "notes"]
```

People who can change the documents can change their `dowse.toml`.
These parts of it count only after `dowse project trust`, and only until the file changes:

- folders outside its own, and folders that your own settings leave out;
- everything in `embed` and `answer`, and `rerank.model`: which model reads the texts, and where;
- what reads more than your own settings do:

{consents}

`dowse config show` lists what is withheld. Patterns in `read.include` and `read.exclude` hold at
once as far as they let fewer files in; `dowse index` names the files that wait for consent.

When a `dowse.toml` belongs to another user or is a symbolic link, nothing of it holds without
consent.

A file of settings may have 1,000,000 bytes.

Settings of `chunk`, of `keyword` and the choice of the model in `embed` are part of the index.
When one of them changes, dowse says so and asks for `dowse index --rebuild`; vectors of texts
that stay the same are kept."""


def main() -> None:
    """Writes both pages into the folder that the command names."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs")
    for name, text in pages().items():
        (folder / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()

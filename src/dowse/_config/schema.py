"""Settings: files, environment and arguments become one typed record, once, at the edge.

From weakest to strongest: built-in defaults, the user's config.toml, a dowse.toml that is with
the documents, what the user has set for the project, DOWSE_SECTION_NAME in the environment,
arguments of the call.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import msgspec
from msgspec import Meta, Struct, field

from dowse._config.former import suggested
from dowse._config.presets import PRESETS, Value
from dowse._config.request import Call
from dowse._embed.options import EmbedOptions
from dowse._index.options import ChunkOptions, ReadOptions
from dowse._model.store_options import StoreOptions
from dowse._search.answer import OF_THE_WRITER, AnswerOptions
from dowse._search.pipeline import SEARCH_FLOW, SearchSettings
from dowse._search.strategies import STRATEGIES
from dowse._text.options import KeywordOptions, VocabularyOptions
from dowse._util.bounds import ALWAYS, NAME, Options, complaint, declared, meaning
from dowse._util.files import UNREADABLE, read_small, shown, why_unreadable
from dowse.errors import BadSettings, UsageError

MANY_WORDS = 10_000
"""How many words are embedded, where words are, unless `vocabulary.size` says otherwise."""

_PRESET = "search.preset"


class OpenOptions(Options, frozen=True):
    """What `dowse open` opens files with."""

    editor: Annotated[
        str,
        NAME,
        ALWAYS,
        "The editor: its command, such as code, cursor, vim or obsidian, or a template with {path} "
        "and {line}. No shell reads it: {path} is an argument, never a part of a script. "
        "Empty: $VISUAL or $EDITOR.",
    ] = ""


class ServeOptions(Options, frozen=True):
    """How `dowse serve` answers."""

    workers: Annotated[
        int,
        Meta(ge=0, le=256),
        ALWAYS,
        "Processes that answer at the same time; 0 means one per core. Each holds the index in"
        " memory. With 1, the server is one process.",
    ] = 0


class Settings(SearchSettings, frozen=True):
    """All settings: the sections of a search, and those of an index."""

    read: ReadOptions = field(default_factory=ReadOptions)
    chunk: ChunkOptions = field(default_factory=ChunkOptions)
    embed: EmbedOptions = field(default_factory=EmbedOptions)
    keyword: KeywordOptions = field(default_factory=KeywordOptions)
    vocabulary: VocabularyOptions = field(default_factory=VocabularyOptions)
    answer: AnswerOptions = field(default_factory=AnswerOptions)
    store: StoreOptions = field(default_factory=StoreOptions)
    open: OpenOptions = field(default_factory=OpenOptions)
    serve: ServeOptions = field(default_factory=ServeOptions)

    @property
    def learned_words(self) -> int:
        """Return how many words are embedded; only the expansion of queries reads them."""
        if self.vocabulary.size >= 0:
            return self.vocabulary.size
        return MANY_WORDS if self.expand.enabled else 0


class Layer(Struct, frozen=True):
    """Settings from one place."""

    origin: str  # for people: a path, "environment", "arguments"
    values: Mapping[str, Any]  # by full name: "chunk.overlap"


class Setting(Struct, frozen=True):
    """A setting as the reference lists it."""

    name: str  # "chunk.overlap"
    type: Any
    default: object
    declared: Any  # the type with its limits, see `dowse._util.bounds`

    @property
    def meaning(self) -> str:
        """Return what it means, as its declaration says."""
        return meaning(self.declared)


_DEFAULTS = Settings()  # a server combines settings for every request, and few sections are set

_Chosen = TypeVar("_Chosen", bound=SearchSettings)

SECTIONS: dict[str, type] = {
    name: type(options) for name, options in msgspec.structs.asdict(_DEFAULTS).items()
}
"""The options class of each section."""


@cache
def known_settings() -> dict[str, Setting]:
    """Return every setting there is, by full name."""
    return {
        name: setting for section in SECTIONS for name, setting in _settings_of(section).items()
    }


@cache
def _settings_of(section: str) -> dict[str, Setting]:
    """Describe the settings of a section; to describe all takes longer than most searches."""
    options, hints = getattr(_DEFAULTS, section), declared(SECTIONS[section])
    found: dict[str, Setting] = {}
    for option in options.__struct_fields__:
        if option in hints:
            name, hint = f"{section}.{option}", hints[option]
            kind = Literal[("", *PRESETS)] if name == _PRESET else hint.__origin__
            found[name] = Setting(name, kind, getattr(options, option), hint)
    return found


def find_setting(name: str, where: str = "") -> Setting:
    """Return the setting of this name; raise `BadSettings` with what comes nearest."""
    section = name.partition(".")[0]
    setting = _settings_of(section).get(name) if section in SECTIONS else None
    if setting is None:
        there = "there" if where else "There"
        raise BadSettings(f"{where}{there} is no setting {shown(name)}.", _suggestion(name))
    return setting


def is_of_a_search(name: str) -> bool:
    """Tell whether a setting can change from search to search; others need another index."""
    return name.partition(".")[0] in SearchSettings.__struct_fields__


def settable(call: Call) -> tuple[str, ...]:
    """List the names of all settings that one call may change."""
    return tuple(
        name
        for name in known_settings()
        if is_of_a_search(name)
        or (call == "answer" and name.startswith("answer.") and name not in OF_THE_WRITER)
    )


def combine(layers: Iterable[Layer]) -> tuple[Settings, dict[str, str]]:
    """Return the settings that hold, and for each that is no default where it comes from."""
    values: dict[str, object] = {}
    origins: dict[str, str] = {}
    for layer in layers:
        for name, (value, origin) in _with_preset(layer).items():
            values[name] = check_value(name, value, layer.origin)
            origins[name] = origin
    return _changed(_DEFAULTS, values), origins


def change_search(settings: _Chosen, changes: Mapping[str, Any]) -> _Chosen:
    """Return the settings with what one search wants different; an index cannot be changed so.

    Of a preset only what concerns searching is taken.
    """
    values: dict[str, object] = {}
    for name, (value, origin) in _with_preset(Layer("arguments", changes)).items():
        checked = check_value(name, value, "arguments")
        if is_of_a_search(name):
            values[name] = checked
        elif origin == "arguments":
            raise _not_of_a_search(name)
    return _changed(settings, values)


def change_answer(
    settings: Settings, changes: Mapping[str, Any]
) -> tuple[AnswerOptions, dict[str, Any]]:
    """Return the options of answers with the changes of one call, and the changes that are left."""
    own = {
        name: check_value(name, value, "arguments")
        for name, value in changes.items()
        if name.startswith("answer.") and name not in OF_THE_WRITER
    }
    return _changed(settings, own).answer, {n: v for n, v in changes.items() if n not in own}


def _changed(settings: _Chosen, values: Mapping[str, object]) -> _Chosen:
    """Return the settings with other values, by full name."""
    sections: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        section, _, option = name.partition(".")
        sections.setdefault(section, {})[option] = value
    changed: dict[str, Any] = {
        section: msgspec.structs.replace(getattr(settings, section), **options)
        for section, options in sections.items()
    }
    return msgspec.structs.replace(settings, **changed)


def _not_of_a_search(name: str) -> BadSettings:
    if name in OF_THE_WRITER:
        return BadSettings(
            f"{name} belongs to the model that writes answers; one call cannot change it.",
            f"Set it with: dowse config set {name} VALUE",
        )
    if name.startswith("answer."):
        return BadSettings(f"{name} is a setting of answers, not of a search.", "See: dowse answer")
    return BadSettings(
        f"{name} is a setting of the index, not of a search.",
        f"Set it with: dowse config set {name} VALUE, then dowse index",
    )


def of_an_index(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the changes that an index is built with, also when a preset has them."""
    return {
        name: value
        for name, (value, _) in _with_preset(Layer("arguments", changes)).items()
        if not is_of_a_search(name)
    }


def built_otherwise(settings: Settings, changes: Mapping[str, Any]) -> list[str]:
    """List the settings of an index in which the preset of a search differs from these."""
    return sorted(
        name for name, value in of_an_index(changes).items() if settings.value(name) != value
    )


def _with_preset(layer: Layer) -> dict[str, tuple[Any, str]]:
    """Return the values of a layer with their origin, those of the preset it names first."""
    preset, own = layer.values.get(_PRESET), {n: (v, layer.origin) for n, v in layer.values.items()}
    if not preset:
        return own
    preset = check_value(_PRESET, preset, layer.origin)
    origin = f"{layer.origin} (preset {preset})"
    return {name: (value, origin) for name, value in preset_values(str(preset)).items()} | own


def preset_values(name: str) -> Mapping[str, Value]:
    """Return all settings of a preset; raise `BadSettings` when there is none of that name."""
    if name not in PRESETS:
        raise BadSettings(f"There is no preset {name!r}.", f"Known: {', '.join(PRESETS)}.")
    # Stages that the two systems did not have must not run.
    return {**(_everything_off() if name in {"seed-a", "seed-b"} else {}), **PRESETS[name]}


@cache
def _everything_off() -> Mapping[str, Value]:
    """Turn off every stage and strategy that can be off; the others keep their usual weights."""
    off: dict[str, Value] = {}
    for strategy in STRATEGIES:
        off[f"fuse.{strategy.name}"] = _DEFAULTS.fuse.weights[strategy.name]
        if strategy.optional:
            off[f"{strategy.name}.enabled"] = False
    for stage in SEARCH_FLOW:
        off |= {f"{stage.name}.{option}": value for option, value in stage.off.items()}
    return off


def check_value(name: str, value: object, origin: str) -> object:
    """Convert a value to the setting's own type; raise `BadSettings` when it does not fit."""
    setting = find_setting(name, f"{origin}: ")
    try:
        converted = msgspec.convert(value, setting.type, strict=not isinstance(value, str))
    except msgspec.ValidationError as error:
        problem = f"does not fit: {why_unreadable(error)}"
    else:
        problem = complaint(setting.declared, converted)
    if problem:
        choices = get_args(setting.type) if get_origin(setting.type) is Literal else ()
        known = ", ".join(filter(None, map(str, choices)))
        raise BadSettings(
            f"{origin}: {name} = {shown(value)} {problem}.",
            f"It means: {setting.meaning}{f' Known: {known}.' if known else ''}",
        )
    return converted


def read_file(path: Path, ignored: Sequence[str] = ()) -> Layer:
    """Read the settings of a TOML file; an absent file has none. `ignored` tables are skipped."""
    try:
        _, tables = read_toml(path)
    except FileNotFoundError:
        return Layer(str(path), {})
    return layer_of(path, tables, ignored)


def read_toml(path: Path) -> tuple[bytes, dict[str, Any]]:
    """Read the bytes of a TOML file and its tables; raise `BadSettings` for what is none."""
    try:
        data = read_small(path)
        return data, tomllib.loads(data.decode("utf-8"))
    except FileNotFoundError:
        raise
    except UNREADABLE as error:
        raise BadSettings(
            f"{path} cannot be read: {why_unreadable(error)}.", "Fix or remove it."
        ) from error


def layer_of(path: Path, tables: Mapping[str, Any], ignored: Sequence[str] = ()) -> Layer:
    """Read the settings in the tables of a file."""
    values: dict[str, Any] = {}
    for section, table in tables.items():
        if section in ignored:
            continue
        if not isinstance(table, dict):
            raise BadSettings(
                f"{path}: there is no setting {shown(section)}.", _suggestion(section)
            )
        values |= {f"{section}.{name}": value for name, value in table.items()}
    return Layer(str(path), values)


def from_environment(environment: Mapping[str, str] = os.environ) -> Layer:
    """Read the settings that DOWSE_SECTION_NAME variables give."""
    values: dict[str, Any] = {}
    ours = tuple(variable for variable in environment if variable.startswith("DOWSE_"))
    for section in SECTIONS:
        if any(variable.startswith(f"DOWSE_{section.upper()}_") for variable in ours):
            for name, setting in _settings_of(section).items():
                text = environment.get("DOWSE_" + name.replace(".", "_").upper())
                if text is not None:
                    values[name] = parse_text(setting, text)
    return Layer("environment", values)


def parse_text(setting: Setting, text: str) -> object:
    """Parse a value as people type it: a list has commas, or is written as in TOML."""
    if get_origin(setting.type) is not tuple:
        return text
    if not text.lstrip().startswith("["):
        return [part.strip() for part in text.split(",") if part.strip()]
    try:
        return tomllib.loads(f"list = {text}")["list"]
    except UNREADABLE as error:
        raise BadSettings(
            f"{setting.name} = {shown(text)} is not a list: {why_unreadable(error)}.",
            'Write one with commas, or as ["one", "two"].',
        ) from error


def _suggestion(name: str) -> str:
    if known := suggested("setting", name):
        return known
    near = difflib.get_close_matches(name[:100], known_settings(), n=3, cutoff=0.6)
    return f"Did you mean {' or '.join(near)}?" if near else "See: dowse config show"


def assigned(text: str) -> tuple[str, object]:
    """Parse `section.name=value`."""
    name, sign, value = text.partition("=")
    if not sign:
        raise UsageError(
            f"set takes a setting and its value, not {shown(text)}.",
            "Write it as: fuse.keyword=2",
        )
    return name.strip(), parse_text(find_setting(name.strip()), value.strip())

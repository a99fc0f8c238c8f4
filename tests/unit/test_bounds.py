from __future__ import annotations

from itertools import product
from typing import Any, get_args, get_origin

import msgspec
import pytest

from dowse._config.schema import SECTIONS, Layer, Setting, combine, known_settings
from dowse._util.bounds import complaint, consent, limits
from dowse.errors import BadSettings
from rows import check_rows

_SETTINGS = list(known_settings().values())


def _of_type(*types: type) -> list[Setting]:
    return [one for one in _SETTINGS if one.type in types]


def test_every_number_has_a_lower_and_an_upper_limit() -> None:
    for setting in _of_type(int, float):
        found = limits(setting.declared)
        assert found is not None, setting.name
        assert found.le is not None, setting.name
        assert (found.ge is None) != (found.gt is None), setting.name


def test_every_text_and_every_list_has_a_longest_length() -> None:
    for setting in _of_type(str):
        found = limits(setting.declared)
        assert found is not None, setting.name
        assert found.max_length is not None, setting.name
    for setting in _SETTINGS:
        if get_origin(setting.type) is tuple:
            found = limits(setting.declared)
            assert found is not None, setting.name
            assert found.max_length is not None, setting.name
            entry = get_args(get_args(setting.declared)[0])[0]
            assert limits(entry) is not None, f"the entries of {setting.name}"


def test_every_default_is_within_its_limits() -> None:
    def check(setting: Setting) -> None:
        assert complaint(setting.declared, setting.default) == ""

    check_rows(_SETTINGS, check)


def test_a_number_beyond_its_limits_is_refused_from_a_file_and_in_python() -> None:
    def check(row: tuple[str, int]) -> None:
        name, value = row
        with pytest.raises(BadSettings, match=name.replace(".", r"\.")):
            combine([Layer("dowse.toml", {name: value})])
        section, _, option = name.partition(".")
        with pytest.raises(BadSettings):
            msgspec.structs.replace(SECTIONS[section](), **{option: value})

    names = [setting.name for setting in _of_type(int, float)]
    check_rows(product(names, [10**12, -(10**12), 2**70]), check)


@pytest.mark.parametrize("value", [[["a"]], ["a" * 1001], ["a"] * 1001, "a", [1]])
def test_a_list_that_is_too_long_or_no_list_of_texts_is_refused(value: Any) -> None:
    with pytest.raises(BadSettings, match=r"read\.exclude"):
        combine([Layer("dowse.toml", {"read.exclude": value if value != "a" else 3})])


def test_settings_of_models_addresses_and_reading_say_when_they_need_consent() -> None:
    """A new setting of these kinds cannot forget it."""
    for setting in _SETTINGS:
        section, _, option = setting.name.partition(".")
        reaches_out = any(word in option for word in ("model", "url", "key", "path", "command"))
        if section in {"read", "embed", "answer"} or (reaches_out and setting.type is str):
            assert consent(setting.declared) is not None, setting.name

from __future__ import annotations

import time
from itertools import count

import pytest

from dowse._index.options import ReadOptions
from dowse._index.source.files import Unreadable
from dowse._index.source.secrets import NAMES, PLACEHOLDER, redact
from dowse.errors import BadSettings

# Put together here, so that no scanner takes this file for a leak.
_KEY = "-----BEGIN " + "RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA7bq9\n" * 3
_END = "-----END " + "RSA PRIVATE KEY-----"
SECRETS = {
    "private-key": _KEY + _END,
    "aws": "AKIA" + "Z7" * 8,
    "github": "ghp_" + "a1B2" * 9,
    "gitlab": "glpat-" + "x" * 20,
    "slack": "xoxb-" + "1234567890-abcdefghij",
    "google": "AIza" + "S" * 35,
    "stripe": "sk_live_" + "4eC39HqLyjWDarjt",
    "openai": "sk-proj-" + "a1" * 24,
    "anthropic": "sk-ant-api03-" + "b2" * 24,
    "npm": "npm_" + "c3" * 18,
    "pypi": "pypi-AgEIcHlwaS5vcmc" + "d" * 60,
    "jwt": "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmN",
}


def test_every_built_in_pattern_has_an_example() -> None:
    assert {"known", *SECRETS} == set(NAMES)


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_is_replaced_wherever_it_is_written(name: str) -> None:
    secret = SECRETS[name]
    for text in (secret, f"key={secret}\n", f"a `{secret}` b", f'"{secret}",', f"({secret})."):
        found, times = redact(text, [name])
        assert secret[:16] not in found
        assert found == text.replace(secret, PLACEHOLDER + "\n" * secret.count("\n"))
        assert times == 1


@pytest.mark.parametrize("name", SECRETS)
def test_known_means_all_but_the_samples_of_documentation(name: str) -> None:
    assert redact(SECRETS[name], ["known"])[1] == (name != "jwt")


def test_the_lines_after_a_key_keep_their_numbers() -> None:
    text = f"one\n{SECRETS['private-key']}\nlast\n"
    found, _ = redact(text, ["known"])
    assert found.split("\n").index("last") == text.split("\n").index("last")


def test_a_key_without_its_end_is_replaced_too() -> None:
    found, times = redact(f"{_KEY}\nThe rest of the text stays.\n", ["known"])
    assert (times, "MIIE" in found, "The rest of the text stays." in found) == (1, False, True)


@pytest.mark.parametrize(
    "text",
    [
        "The password is in the safe. token: see below. secret = yes",
        "skip-anteater, task-ant-colony-of-forty-workers-and-one-very-long-name-indeed",
        "AKIA is the prefix of an access key, ghp_ that of a token, eyJ that of a JWT.",
        "-----BEGIN CERTIFICATE-----\nMIID\n-----END CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----\nMIID\n-----END PUBLIC KEY-----",
        "d41d8cd98f00b204e9800998ecf8427e 550e8400-e29b-41d4-a716-446655440000",
    ],
)
def test_what_only_looks_like_one_stays(text: str) -> None:
    assert redact(text, ["known", "jwt"]) == (text, 0)


def test_overlapping_matches_are_one() -> None:
    assert redact("x1234y", ["re:[0-9]{4}", "re:x[0-9]{2}"]) == (f"{PLACEHOLDER}y", 1)


def test_own_patterns_are_found_at_the_edges_of_a_window() -> None:
    for before in range(4080, 4100):
        text = "-" * before + "ACME-12345678" + "-" * 5000
        assert redact(text, ["re:ACME-[0-9]{8}"]) == (text.replace("ACME-12345678", PLACEHOLDER), 1)


@pytest.mark.parametrize(
    "pattern",
    [
        *("(", "[a-z", "(a+)+$", "a*", "x{3,}", "(ab){1,9}c", r"(a)\1", "(?=a)b", "(?i)a", ""),
        *("[a-z]{1,99}[a-z]{1,99}[a-z]{1,99}", "a{0,5000}", "a{99999999999}", "a?", "a++"),
    ],
)
def test_a_pattern_that_could_take_long_or_means_nothing_is_refused(pattern: str) -> None:
    with pytest.raises(BadSettings, match=r"read\.redact"):
        ReadOptions(redact=(f"re:{pattern}",))


@pytest.mark.parametrize(
    "pattern", ["ACME-[0-9]{8}", r"\bid:\d{1,9}\b", "(?:ab|cd)[]x-]{2}", "a?b"]
)
def test_other_patterns_are_taken(pattern: str) -> None:
    assert ReadOptions(redact=(f"re:{pattern}",)).redact == (f"re:{pattern}",)


def test_an_unknown_name_is_explained() -> None:
    with pytest.raises(BadSettings, match="Known: known, private-key, aws"):
        ReadOptions(redact=("passwords",))


def test_a_file_that_takes_too_long_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = count(0.0, 6.0)
    monkeypatch.setattr("dowse._index.source.secrets.time.monotonic", lambda: next(clock))
    with pytest.raises(Unreadable, match="takes too long"):
        redact("a" * 100_000, ["re:ACME-[0-9]{8}"])


@pytest.mark.parametrize("name", SECRETS)
def test_the_time_grows_with_the_length_and_not_with_its_square(name: str) -> None:
    beginning = SECRETS[name][:30]

    def spent(times: int) -> float:
        texts = [beginning * times, beginning + "A" * 30 * times, (beginning + "\n") * times]
        started = time.process_time()
        for text in texts:
            redact(text, [name])
        return time.process_time() - started

    small, large = (min(spent(times) for _ in range(3)) for times in (3000, 30_000))
    assert large < 50 * max(small, 0.001), "ten times the text takes a hundred times as long"

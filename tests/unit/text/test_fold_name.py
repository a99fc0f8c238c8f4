"""How titles and headings are compared."""

from __future__ import annotations

import pytest

from dowse._text.matching import fold_name


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("How do I restore a backup?", "how do i restore a backup"),
        ("Set up:  the\tbasics", "set up the basics"),
        ("kube-proxy", "Kube Proxy"),
        ("“Quoted”", '"quoted"'),
        ("Cafe\u0301", "CAFÉ"),
        ("ｆｕｌｌ", "full"),
    ],
)
def test_case_punctuation_and_blanks_do_not_count(one: str, other: str) -> None:
    assert fold_name(one) == fold_name(other)


@pytest.mark.parametrize(("one", "other"), [("C", "C++"), ("C", "C#"), ("?", "!"), ("a b", "ab")])
def test_other_names_stay_different(one: str, other: str) -> None:
    assert fold_name(one) != fold_name(other)

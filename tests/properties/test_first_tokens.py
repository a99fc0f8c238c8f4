"""A command that embeds a query reads a part of the tokenizer, with the same result."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from dowse._embed.models import _WEIGHTS
from dowse._embed.open import TextTokenizer, only_for
from dowse._embed.options import DEFAULT_MODEL
from effort import examples

_CONTENT = (_WEIGHTS / DEFAULT_MODEL / "tokenizer.json").read_bytes()
_WHOLE = Tokenizer.from_buffer(_CONTENT)
_WORDS = st.sampled_from(
    [
        "getUserById",
        "wait-for-any",
        "backups",
        "<s>",
        "<mask>",
        "Überprüfung",
        "数据库",
        "データ",
        "базу",
    ]
)


@examples(30, 2000)
@given(st.lists(st.one_of(_WORDS, st.text(max_size=12)), max_size=6).map(" ".join))
def test_a_first_query_is_cut_as_by_the_whole_tokenizer(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    assert TextTokenizer(_CONTENT, 256).ids([text]) == [_WHOLE.encode(text).ids[:256]]


def test_later_texts_are_cut_by_the_whole_tokenizer() -> None:
    tokenizer = TextTokenizer(_CONTENT, 256)
    for text in ("数据库 backups", "Wie erstelle ich eine Verbindung?"):
        assert tokenizer.ids([text]) == [_WHOLE.encode(text).ids]


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"model": {"type": "WordPiece"}}'])
def test_other_tokenizers_are_read_whole(content: bytes) -> None:
    assert only_for(content, ["a"]) == content


def test_the_package_of_tokenizers_is_whole_before_threads_use_a_tokenizer() -> None:
    line = "import sys; from dowse._embed.open import TextTokenizer; TextTokenizer(b'{}', 8)"
    check = "assert 'tokenizers.implementations' in sys.modules"
    subprocess.run([sys.executable, "-c", f"{line}; {check}"], check=True)

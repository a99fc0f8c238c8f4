"""Chinese, Japanese and Korean are found: by characters and pairs, or by words with the extra."""

from __future__ import annotations

import logging
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from documents import make_document
from dowse._model import Batch, Fields
from dowse._text import scripts
from dowse._text.analyzer import TextAnalyzer
from dowse._text.options import KeywordOptions
from dowse._text.scripts import versions_of
from dowse.errors import BadSettings
from memory_store import MemoryStore
from rows import check_rows

LANGUAGES: list[Literal["japanese", "korean", "chinese"]] = ["japanese", "korean", "chinese"]
_PAIRS = TextAnalyzer(KeywordOptions())

with_extra = pytest.mark.skipif(
    not all(map(versions_of, LANGUAGES)), reason="the extra cjk is not installed"
)


def by(*modes: str) -> pytest.MarkDecorator:
    """Runs a test in each mode, those that need the extra only where it is installed."""
    return pytest.mark.parametrize(
        "mode", ["default", *(pytest.param(mode, marks=with_extra) for mode in modes)]
    )


def analyzer(mode: str) -> TextAnalyzer:
    return TextAnalyzer(KeywordOptions(tokenizer=mode))


def terms_of(text: str, mode: str = "default") -> list[str]:
    return [term for term, _ in analyzer(mode).chunk_terms(Fields(), (), text)]


def ranked(mode: str, query: str, *texts: str) -> list[str]:
    """The texts that a query finds, best first."""
    chosen = analyzer(mode)
    store = MemoryStore(chosen)
    documents = [make_document(f"{place}.md", text) for place, text in enumerate(texts)]
    with store.write() as writing:
        writing.start({})
        writing.apply(Batch(tuple(documents)))
    with store.read() as reading:
        keys = [key for key, _ in reading.keyword.search("body", chosen.query_terms(query), 10)]
        return [stored.text for stored in reading.catalogue.chunks(keys)]


# ── Without the extra ────────────────────────────────────────────────────────


def test_text_without_spaces_becomes_characters_and_pairs() -> None:
    def check(row: tuple[str, list[str]]) -> None:
        text, expected = row
        assert terms_of(text) == expected

    rows: list[tuple[str, list[str]]] = [
        ("検索エンジン", ["検", "検索", "索", "索エ", "エン", "ンジ", "ジン"]),
        ("水", ["水"]),
        ("の", ["の"]),
        ("水。火", ["水", "火"]),
        ("ガイド・本", ["ガイ", "イド", "本"]),
        ("한국어 검색", ["한국", "국어", "검색"]),
        ("用Python写", ["用", "python", "写"]),
        ("Kubernetes集群", ["kubernet", "集", "集群", "群"]),
        ("C++の本", ["c++", "の本", "本"]),
        ("\U00020000\U00020001", ["\U00020000", "\U00020000\U00020001", "\U00020001"]),
    ]
    check_rows(rows, check)


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("ＡＰＩ", "API"),
        ("Ｃ＋＋", "c++"),
        ("Ｎｏｄｅ．ｊｓ", "node.js"),
        ("ＵＴＦ－８", "UTF-8"),
        ("ｶﾞｲﾄﾞ", "ガイド"),
        ("ｻｰﾊﾞｰ", "サーバー"),
        ("１２３", "123"),
        ("か\uff9e", "が"),
    ],
)
def test_width_makes_no_difference(written: str, asked: str) -> None:
    assert terms_of(written) == terms_of(asked)
    assert terms_of(f"{written}を") == terms_of(f"{asked}を")


@pytest.mark.parametrize(("one", "other"), [("x²", "x2"), ("™", "tm"), ("①", "1")])
def test_what_is_more_than_width_stays_different(one: str, other: str) -> None:
    assert terms_of(f"{one}-a") != terms_of(f"{other}-a")


def test_full_width_punctuation_ends_a_word() -> None:
    assert terms_of("名称：value（Pod）！Node；") == terms_of("名称 value Pod Node")


@settings(deadline=None, max_examples=100, derandomize=True)
@given(st.text("検索機能のをログ한국어", min_size=2, max_size=12), st.data())
def test_terms_of_a_phrase_follow_each_other(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 2))
    end = data.draw(st.integers(start + 2, len(text)))
    phrase, terms = terms_of(text[start:end]), terms_of(text)
    assert any(terms[place : place + len(phrase)] == phrase for place in range(len(terms)))


# ── In every mode ────────────────────────────────────────────────────────────


@by("auto", "japanese", "korean", "chinese")
@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("Kubernetes集群", "在 Kubernetes 集群中运行"),
        ("集群Kubernetes", "Kubernetes集群"),
        ("Pod的生命周期", "本页描述 Pod 的生命周期。"),
        ("ログ", "3月のログを見る"),
        ("3月のログ", "先月と3月のログ"),
        ("API", "このＡＰＩを呼ぶ"),
        ("サーバー", "ｻｰﾊﾞｰの設定"),
        ("설정", "서버 설정을 바꾼다"),
        ("쿠버네티스", "쿠버네티스에서 실행"),
        ("C++", "C++で書く"),
        ("ウェブAPI検索", "検索のためのウェブAPI"),
    ],
)
def test_a_word_is_found_inside_a_sentence(mode: str, query: str, text: str) -> None:
    assert ranked(mode, query, "いいえ", "天氣", "다른 글", "nothing", text)[0] == text


@by("auto", "chinese")
@pytest.mark.parametrize("query", ["检索", "全文检索", "引擎的原理", "检索 引擎"])
def test_a_chinese_word_is_found_inside_a_sentence(mode: str, query: str) -> None:
    assert ranked(mode, query, "天气", "全文检索引擎的原理") == ["全文检索引擎的原理"]


@by("auto", "japanese")
@pytest.mark.parametrize("query", ["検索機能", "検索", "機能", "全文検索", "鍵", "検索の機能"])
def test_chinese_characters_alone_find_japanese_text(mode: str, query: str) -> None:
    text = "全文検索エンジンの機能と、鍵の設定について説明します。"
    assert ranked(mode, query, "天気は晴れです。", text) == [text]


@by("auto", "japanese", "korean", "chinese")
@pytest.mark.parametrize(
    "text", ["検索" * 20_000, "あ" * 50_000, "한국어" * 5_000, "々ーっ゛", "ᄀ", "〇・"]
)
def test_runs_without_end_and_odd_ones_are_cut(mode: str, text: str) -> None:
    assert all(0 < len(term) <= 1000 for term in terms_of(text, mode))


_mixed = st.text(
    st.one_of(
        st.sampled_from(
            "検索生命周期的集群のをログサーバー한국어검색을 aC+#.３Ａｶﾞ、。・々\u3099\n"
        ),
        st.characters(min_codepoint=0x3000, max_codepoint=0x30FF),
        st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF),
        st.characters(min_codepoint=0xAC00, max_codepoint=0xD7FF),
        st.characters(min_codepoint=0xF900, max_codepoint=0xFFFF),
        st.characters(),
    ),
    max_size=40,
)


@by("auto", "japanese", "korean", "chinese")
def test_any_text_is_found_by_itself_and_gives_the_same_terms_again(mode: str) -> None:
    lasting = analyzer(mode)

    @settings(deadline=None, max_examples=150, derandomize=True)
    @given(_mixed)
    def check(text: str) -> None:
        terms = lasting.query_terms(text)
        assert set(terms) <= {term for term, _ in lasting.chunk_terms(Fields(), (), text)}
        assert all(terms)
        assert terms == analyzer(mode).query_terms(text)

    check()


# ── With the extra ───────────────────────────────────────────────────────────


@with_extra
@pytest.mark.parametrize(
    ("mode", "text", "expected"),
    [
        ("japanese", "サーバの設定を調べました", ["サーバー", "設定", "調べる"]),
        ("japanese", "全文検索", ["全文", "検索"]),
        ("japanese", "利用することができる", ["利用"]),
        ("japanese", "3月のログ", ["月", "ログ"]),
        ("korean", "컨테이너를 실행했습니다", ["컨테이너", "컨테", "테이", "이너", "실행"]),
        ("korean", "찾아보세요", ["찾다"]),
        ("chinese", "生命周期管理", ["生命周期", "生命", "周期", "管理"]),
        ("chinese", "サーバの設定", ["サーバー", "設定"]),
        ("chinese", "서버를 本", ["서버", "本"]),
        ("auto", "全文検索の本", ["全文", "全", "文", "検索", "検", "索", "本"]),
        ("auto", "管理集群", ["管理", "管", "理", "集群", "集", "群"]),
    ],
)
def test_words_of_each_language(mode: str, text: str, expected: list[str]) -> None:
    assert terms_of(text, mode) == expected


@with_extra
@pytest.mark.parametrize(
    ("mode", "query", "text"),
    [
        ("japanese", "サーバ", "サーバーを起動する"),
        ("japanese", "調べる", "原因を調べました"),
        ("korean", "실행하기", "컨테이너를 실행했습니다"),
        ("korean", "아름답다", "아름다운 코드"),
        ("auto", "引越し", "引っ越しの案内"),
        ("auto", "インタフェース", "インターフェースを作る"),
    ],
)
def test_another_form_of_a_word_finds_it(mode: str, query: str, text: str) -> None:
    assert text in ranked(mode, query, "別の文です", "다른 글", text)


@with_extra
def test_the_stamp_names_what_cuts_the_text() -> None:
    assert _PAIRS.stamp["tokenizers"] == ""
    assert "rjieba" in str(analyzer("auto").stamp["tokenizers"])
    assert "rjieba" not in str(analyzer("japanese").stamp["tokenizers"])
    assert versions_of("japanese") in str(analyzer("chinese").stamp["tokenizers"])


@with_extra
def test_several_threads_get_the_same_terms() -> None:
    texts = [f"サーバの設定{n} 集群的生命周期 컨테이너를 실행했습니다" for n in range(40)]
    lasting = analyzer("auto")
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lasting.query_terms, texts * 3))
    assert found == [analyzer("auto").query_terms(text) for text in texts * 3]


@with_extra
def test_tokenizers_make_no_noise(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.DEBUG):
        terms_of("検索の本 集群 한국어", "auto")
    assert not caplog.records
    assert capfd.readouterr() == ("", "")


def test_text_in_other_scripts_loads_no_tokenizer() -> None:
    script = (
        "import sys\n"
        "from dowse._text.analyzer import TextAnalyzer\n"
        "from dowse._text.options import KeywordOptions\n"
        "analyzer = TextAnalyzer(KeywordOptions(tokenizer='auto'))\n"
        "analyzer.query_terms('plain words, naïve – Привет')\n"
        "print([name for name in ('rjieba', 'sudachipy', 'kiwipiepy') if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


# ── When a part of it is missing ─────────────────────────────────────────────


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dowse._text.scripts.versions_of", lambda _language: "")


@pytest.mark.usefixtures("nothing_installed")
@pytest.mark.parametrize("mode", LANGUAGES)
def test_a_tokenizer_that_is_set_must_be_installed(mode: str) -> None:
    with pytest.raises(
        BadSettings, match=r'keyword\.tokenizer .*pip install "dowse-search\[cjk\]"'
    ):
        analyzer(mode)


@pytest.mark.usefixtures("nothing_installed")
def test_without_tokenizers_auto_is_pairs_and_says_so() -> None:
    assert terms_of("検索の本 集群 한국어", "auto") == terms_of("検索の本 集群 한국어")
    assert analyzer("auto").stamp["tokenizers"] == ""


@with_extra
def test_a_broken_tokenizer_is_named_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rjieba", None)
    scripts._load.cache_clear()
    with pytest.raises(BadSettings, match=r"chinese .*--force-reinstall"):
        terms_of("集群", "chinese")
    monkeypatch.undo()
    assert terms_of("集群", "chinese") == ["集群"]


def test_no_other_tokenizer_is_known() -> None:
    with pytest.raises(BadSettings, match=r"keyword\.tokenizer is 'klingon'.*auto"):
        KeywordOptions(tokenizer="klingon")

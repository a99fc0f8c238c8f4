import json
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from training.vocabulary import extend_tokenizer, read_pages, texts_of, write_corpus

ENGLISH = [
    "Restore the database from a backup.",
    "The encoder loads the order of the words.",
    "Create a connection to the database.",
]
GERMAN = "Eine Datenbankverbindung oder eine Datenbank mit ä"
CHINESE = "创建数据库连接，恢复数据库备份"


def _page(language: str, source: str, text: str) -> list[Any]:
    return [language, source, 1, [2, text], [-1, ""], [[2, [0, text], [[1, text], [-1, "no"]]]]]


def _tokenizer(path: Path) -> Tokenizer:
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=300, initial_alphabet=alphabet, show_progress=False, special_tokens=["<s>"]
    )
    made.train_from_iterator(ENGLISH * 5, trainer)
    made.save(str(path))
    return made


def _corpus(folder: Path, pages: list[list[Any]]) -> Path:
    source = folder / "all.jsonl"
    source.write_text("".join(json.dumps(page) + "\n" for page in pages), "utf-8")
    write_corpus(source, folder / "corpus")
    return folder / "corpus"


def test_only_sources_of_certain_licence_are_kept(tmp_path: Path) -> None:
    corpus = _corpus(tmp_path, [_page("de", "istio", GERMAN), _page("de", "django", "Nein")])
    assert [page[1] for page in read_pages(corpus)] == ["istio"]


def test_a_page_yields_each_text_that_has_an_english_line() -> None:
    assert [number for number, _ in texts_of(_page("de", "istio", GERMAN))] == [2, 0, 1]


def test_more_languages_get_pieces_and_english_is_cut_as_before(tmp_path: Path) -> None:
    before = _tokenizer(tmp_path / "tokenizer.json")
    # A text counts once, so each one differs.
    texts = [("de", f"{GERMAN} {n}") for n in range(9)] + [
        ("zh", f"{CHINESE}{chr(0x4E00 + n)}") for n in range(9)
    ]
    corpus = _corpus(tmp_path, [_page(language, "istio", text) for language, text in texts])
    after = extend_tokenizer(corpus, ENGLISH, tmp_path / "tokenizer.json", {"de": 40, "zh": 40})
    assert after.get_vocab_size() > before.get_vocab_size()
    for text in (GERMAN, CHINESE):
        shorter = after.encode(text)
        assert len(shorter.ids) < len(before.encode(text).ids)
        assert after.decode(shorter.ids) == text
    for text in ENGLISH:
        assert after.encode(text).ids == before.encode(text).ids
    old = before.get_vocab()
    assert {piece: after.get_vocab()[piece] for piece in old} == old
    assert sorted(after.get_vocab().values()) == [*range(after.get_vocab_size())]

"""Chooses pages that teach the encoder more languages, and adds pieces of them to its tokenizer.

    python -m training.vocabulary corpus PAGES OUT
    python -m training.vocabulary tokenizer CORPUS ENGLISH TOKENIZER OUT

PAGES has translated pages, aligned block by block with the lines of ENGLISH: a line a page, as
[language, source, page, title, description, [[level, heading, [block, …]], …]], where each text is
[number of the English line, translation].
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

CERTAIN = frozenset(
    {
        "ethereum", "webdev", "iot", "datascience", "astro", "helm",  # MIT
        "istio", "glossary", "hfcourse", "transformers", "tensorflow",  # Apache-2.0
        "visualstudio", "m365", "opentelemetry", "opensourceguide",  # CC BY 4.0
    }
)  # fmt: skip
"""Sources whose licence is in their own repository, but for fastapi and react, which judge."""

QUOTAS = {
    "zh": 6500, "zh-tw": 1000, "ja": 6500, "ko": 6000, "ru": 4000, "uk": 1000, "de": 2600,
    "fr": 2000, "es": 2000, "pt": 1600, "it": 1800, "pl": 1000, "tr": 900, "nl": 700, "cs": 700,
    "vi": 500, "sv": 400, "id": 400, "da": 250, "no": 200, "fi": 400, "hu": 400, "ro": 350,
}  # fmt: skip
"""How many pieces are added for each language, in this order."""

FIRST_SYMBOL = 0x10000
"""Tokens are shown to the trainer of the tokenizer as characters from here on."""


# ── Corpus ───────────────────────────────────────────────────────────────────


def write_corpus(pages: Path, out: Path) -> None:
    """Keep the pages of certain licence."""
    out.mkdir(parents=True, exist_ok=True)
    kept: Counter[str] = Counter()
    with pages.open(encoding="utf-8") as read, (out / "pages.jsonl").open("w") as write:
        for line in read:
            language, source = json.loads(line)[:2]
            if source in CERTAIN:
                write.write(line)
                kept[language] += 1
    print("pages", sum(kept.values()), dict(kept.most_common()), flush=True)


def read_pages(corpus: Path) -> Iterator[list[Any]]:
    """Read the pages, one at a time."""
    with (corpus / "pages.jsonl").open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def texts_of(page: list[Any]) -> Iterator[tuple[int, str]]:
    """Yield the English line and the translation of each text of a page."""
    for number, text in (page[3], page[4]):
        if number >= 0 and text:
            yield number, text
    for _, heading, blocks in page[5]:
        for number, text in (heading, *blocks):
            if number >= 0 and text:
                yield number, text


# ── Tokenizer ────────────────────────────────────────────────────────────────


def extend_tokenizer(
    corpus: Path, english: list[str], tokenizer: Path, quotas: Mapping[str, int]
) -> Tokenizer:
    """Add pieces for each language that leave every English text cut as before.

    The tokenizer is a byte-level BPE. Its new merges come after all old ones, so they change a text
    only where none of the old ones is left; those that would change an English one are left out.
    """
    texts: dict[str, list[str]] = {}
    for page in read_pages(corpus):
        texts.setdefault(page[0], []).extend(text for _, text in texts_of(page))
    content = json.loads(tokenizer.read_text("utf-8"))
    vocabulary, merges = content["model"]["vocab"], content["model"]["merges"]
    merges[:] = [one.split(" ") if isinstance(one, str) else one for one in merges]
    old = len(vocabulary)
    for language, quota in quotas.items():
        some = sample(texts.get(language, []), 5_000_000)
        for pair in learn_merges(Tokenizer.from_str(json.dumps(content)), vocabulary, some, quota):
            piece = "".join(pair)
            if piece not in vocabulary:
                vocabulary[piece] = len(vocabulary)
                merges.append(list(pair))
        print(language, len(some), "pieces", len(vocabulary), flush=True)
    return leave_english(content, old, english)


def leave_english(content: dict[str, Any], old: int, english: list[str]) -> Tokenizer:
    """Remove the pieces from `old` on that occur in English texts, until there are none."""
    vocabulary, merges = content["model"]["vocab"], content["model"]["merges"]
    plain = [line for line in english if all(map(str.isascii, filter(str.isalpha, line)))]
    while True:
        made = Tokenizer.from_str(json.dumps(content))
        names = {number: piece for piece, number in vocabulary.items()}
        culprits = {names[i] for e in made.encode_batch_fast(plain) for i in e.ids if i >= old}
        print("pieces that occur in English", len(culprits), flush=True)
        if not culprits:
            return made
        remove_pieces(vocabulary, merges, culprits, old)


def sample(texts: Iterable[str], most: int) -> list[str]:
    """Choose texts at random, up to a number of characters."""
    chosen, size = sorted(set(texts)), 0
    random.Random(4).shuffle(chosen)
    for n, text in enumerate(chosen):
        size += len(text)
        if size > most:
            return chosen[:n]
    return chosen


def learn_merges(
    tokenizer: Tokenizer, vocabulary: dict[str, int], texts: list[str], quota: int
) -> list[tuple[str, str]]:
    """Learn merges of the tokens that a tokenizer makes of the texts."""
    names = {number: piece for piece, number in vocabulary.items()}

    def symbols() -> Iterator[str]:
        for start in range(0, len(texts), 2000):
            for e in tokenizer.encode_batch(texts[start : start + 2000], add_special_tokens=False):
                words: dict[int, list[str]] = {}
                for number, word in zip(e.ids, e.word_ids, strict=True):
                    words.setdefault(word or 0, []).append(chr(FIRST_SYMBOL + number))
                yield " ".join("".join(word) for word in words.values())

    learner = Tokenizer(models.BPE())
    learner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    seen = {char for line in symbols() for char in line} - {" "}
    learner.train_from_iterator(
        symbols(),
        trainers.BpeTrainer(
            vocab_size=len(seen) + quota, min_frequency=6, show_progress=False, max_token_length=12
        ),
    )
    learned = json.loads(learner.to_str())["model"]["merges"]
    pairs = [one if isinstance(one, list) else one.split(" ") for one in learned]

    def piece(symbol: str) -> str:
        return "".join(names[ord(char) - FIRST_SYMBOL] for char in symbol)

    return [(piece(left), piece(right)) for left, right in pairs]


def remove_pieces(
    vocabulary: dict[str, int], merges: list[list[str]], pieces: set[str], old: int
) -> None:
    """Remove added pieces, and those that are merged of them; number the others again."""
    fixed = [piece for piece, number in vocabulary.items() if number < old]
    gone = set(pieces)
    kept: list[list[str]] = []
    for merge in merges:
        left, right = merge
        if left in gone or right in gone or left + right in gone:
            gone.add(left + right)
        else:
            kept.append(merge)
    gone -= set(fixed)
    later = [p for p, _ in sorted(vocabulary.items(), key=lambda one: one[1]) if p not in gone]
    vocabulary.clear()
    vocabulary.update({piece: number for number, piece in enumerate(later)})
    merges[:] = kept


def main() -> None:
    """Run one step."""
    parser = argparse.ArgumentParser(description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True)
    for step, names in (("corpus", "pages out"), ("tokenizer", "corpus english tokenizer out")):
        for name in names.split():
            (steps.choices.get(step) or steps.add_parser(step)).add_argument(name, type=Path)
    a = parser.parse_args()
    if a.step == "corpus":
        write_corpus(a.pages, a.out)
    else:
        english = a.english.read_text("utf-8").split("\n")
        made = json.loads(extend_tokenizer(a.corpus, english, a.tokenizer, QUOTAS).to_str())
        # Pairs as strings are read in a third less time.
        made["model"]["merges"] = [" ".join(pair) for pair in made["model"]["merges"]]
        text = json.dumps(made, ensure_ascii=False, separators=(",", ":"))
        a.out.write_text(text, "utf-8")


if __name__ == "__main__":
    main()

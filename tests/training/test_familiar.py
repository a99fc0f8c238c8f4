from training.corpus import Chunk
from training.familiar import count

from dowse._text.analyzer import TextAnalyzer
from dowse._text.options import KeywordOptions


def test_a_word_counts_once_in_each_passage_that_has_it_often_enough() -> None:
    chunks = [
        Chunk("a", 1, "Backups", ["Restoring"], "Restore the backup. A backup is a copy."),
        Chunk("a", 2, "Copies", [], "See https://example.org/backup and #anchor."),
        Chunk("b", 3, "Copies of copies", [], "Nothing else."),
    ]
    counted = count(chunks, least=2)
    assert counted.passages == 3
    assert counted.length == round(sum(len(one.text) for one in chunks) / 3)
    assert counted.terms == {"backup": 2, "copi": 3}
    assert counted.analyzer.items() <= TextAnalyzer(KeywordOptions()).stamp.items()


def test_addresses_and_anchors_are_no_words() -> None:
    chunks = [Chunk("a", 1, "", [], "/etc/fstab #anchor node.js c++ don\u2019t")]
    assert not {"/etc/fstab", "#anchor"} & set(count(chunks, least=1).terms)
    assert {"node.js", "don\u2019t"} <= set(count(chunks, least=1).terms)

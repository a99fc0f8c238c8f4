import pytest

from dowse._index.options import ReadOptions
from dowse._text.file_names import CONVERTED, ENDINGS, TEXT, kind_of
from dowse.errors import BadSettings


def test_defaults_read_everything_that_is_visible() -> None:
    options = ReadOptions()
    assert options.include == options.exclude == ()
    assert options.convert == CONVERTED
    assert options.gitignore
    assert options.follow_symlinks
    assert not options.hidden


def test_text_and_converted_files_have_limits_of_their_own() -> None:
    options = ReadOptions(max_bytes=1, max_convert_bytes=2)
    assert options.limit(TEXT) == 1
    assert options.limit("pdf") == 2


@pytest.mark.parametrize(
    "wrong",
    [{"max_bytes": 0}, {"max_convert_bytes": -1}, {"convert_seconds": 0}, {"convert": ("rtf",)}],
)
def test_senseless_values_are_refused_with_a_hint(wrong: dict[str, object]) -> None:
    with pytest.raises(BadSettings) as caught:
        ReadOptions(**wrong)  # type: ignore[arg-type]
    assert caught.value.hint


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.md", TEXT),
        ("A.MARKDOWN", TEXT),
        ("a.b.Mdx", TEXT),
        ("x.txt", TEXT),
        ("x.PDF", "pdf"),
        ("x.htm", "html"),
        ("x.xls", "xls"),
        ("x.png", None),
        ("md", None),
        (".md", None),
        ("x.md~", None),
        ("~$x.docx", None),
        ("", None),
    ],
)
def test_the_ending_says_how_a_file_is_read(name: str, kind: str | None) -> None:
    assert kind_of(name) == kind


def test_every_ending_of_the_list_is_read() -> None:
    assert all(kind_of(f"x{ending}") for ending in ENDINGS)

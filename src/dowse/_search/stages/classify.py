"""The kind of a query, which decides which strategy gets more weight."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from msgspec import Meta

from dowse._search.query.parser import lex
from dowse._search.stages.strategies import STRATEGIES
from dowse._search.state import SearchState
from dowse._text.scripts import late_pattern
from dowse._util.bounds import Options

QueryType = Literal["factual", "navigational", "exploratory"]
"""What a query asks for: a thing by its exact name, a place in the documents, or an explanation."""

_FACTOR = Meta(ge=0, le=10)


def _multiplies(kind: QueryType, when: str) -> str:
    weights = " and ".join(one.name for one in STRATEGIES if one.favoured_by == kind)
    return f"Multiplies the {weights} weight {when} (0–10)."


# Names such as iPhone and gRPC are written so in prose: identifiers have two small letters before
# the first capital.
_CAMEL_CASE = late_pattern(r"\b(?!(?:mac|tv|watch)OS\b)[a-z][a-z0-9]+[A-Z]\w*")
# Names of products and companies have the shape of identifiers. These are frequent in prose.
_IN_PROSE = (
    "AirPods|BitTorrent|CloudFront|CoffeeScript|DevOps|DigitalOcean|ESLint|FaceTime|GitHub|GitLab"
    "|HashiCorp|IPSec|JavaScript|LibreOffice|LinkedIn|MacBook|NumPy|OneDrive|OneNote|OpenOffice"
    "|OpenShift|OpenStack|PayPal|PowerPoint|PowerShell|PyTorch|SQLite|SciPy|SharePoint|SourceForge"
    "|TensorFlow|TypeScript|VSCode|WhatsApp|WordPress|YouTube"
)
# Two capitalised parts and more, or an acronym before one: PascalCase, HTTPResponse.
_PASCAL_CASE = late_pattern(
    rf"\b(?!(?:{_IN_PROSE})s?\b)(?:[A-Z]{{2,}}(?=[A-Z][a-z0-9])|[A-Z][a-z0-9]+)"
    r"(?:[A-Z][a-z0-9]+)*[A-Z][a-z0-9]{2,}\b"
)
_SNAKE_CASE = late_pattern(r"[^\W_]_+[^\W_]")
_CALL = late_pattern(r"\w\(\)|\w\.\w+\(")  # foo.bar()
_MEMBER = late_pattern(r"\w::\w")  # std::vector
_VARIABLE = late_pattern(r"(?<![\w$])\$\{?[A-Za-z_]")  # $VAR, but no sum of money
_FLAG = late_pattern(r"(?:^|\s)--?[A-Za-z]")  # kubectl get pods -o
_SHAPES_OF_CODE = (_CAMEL_CASE, _PASCAL_CASE, _SNAKE_CASE, _CALL, _MEMBER, _VARIABLE, _FLAG)
# A share, a sum of money and the number of a section are no versions.
_VERSION = late_pattern(
    r"(?<![0-9.,$€£])(?<!section )(?<!chapter )[0-9]+(?:\.[0-9]+)+(?![0-9,.]{0,20}\s?%)"
    r"|\bv[0-9]+\b",
    re.IGNORECASE,
)
_PLACE = late_pattern(
    r"\b(?:sections?|chapters?|guides?|tutorials?|documentation|docs|handbook|appendix)\b"
    r"|\[\[[^\[\]]+\]\]",
    re.IGNORECASE,
)


class ClassifyOptions(Options, frozen=True):
    """Whether the kind of a query changes the weights, and by how much."""

    enabled: Annotated[bool, "Change the weights of strategies by the kind of the query."] = False
    factual: Annotated[
        float, _FACTOR, _multiplies("factual", "when the query names a thing exactly")
    ] = 1.5
    navigational: Annotated[
        float, _FACTOR, _multiplies("navigational", "when the query asks for a place")
    ] = 1.5
    exploratory: Annotated[float, _FACTOR, _multiplies("exploratory", "of all other queries")] = 1.3

    def multipliers(self, kind: QueryType) -> dict[str, float]:
        """Return the factor for the weight of each strategy."""
        favour = float(getattr(self, kind))
        return {one.name: favour if one.favoured_by == kind else 1.0 for one in STRATEGIES}


def weigh_by_type(search: SearchState) -> None:
    """Let the kind of query change the weights."""
    factors = search.settings.classify.multipliers(classify(search.request.query))
    for strategy, factor in factors.items():
        search.weights[strategy] *= factor


def classify(text: str) -> QueryType:
    """Classify a query as the user wrote it; the first kind that fits wins."""
    searched = [piece for piece in lex(text) if piece.kind != "field" and not piece.negated]
    words = " ".join(piece.text for piece in searched)
    quoted = any(piece.kind in ("phrase", "code") for piece in searched)
    if quoted or any(shape.search(words) for shape in (*_SHAPES_OF_CODE, _VERSION)):
        return "factual"
    return "navigational" if _PLACE.search(words) else "exploratory"

"""What --json prints of an evaluation."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from dowse._project.evaluation.ablate import AblationRow
from dowse._project.evaluation.compare import Difference
from dowse._project.evaluation.records import Collection
from dowse._project.evaluation.report import RunReport


class MeasureRecord(Struct, frozen=True):
    """How two runs differ in one measure."""

    measure: Annotated[str, "Its name, as in `measures`."]
    values: Annotated[Difference, "What each came to, and the difference."]


class ComparisonRecord(Struct, frozen=True):
    """How two runs differ."""

    first: Annotated[str, "Name of the first run."]
    second: Annotated[str, "Name of the second run."]
    measures: Annotated[tuple[MeasureRecord, ...], "By measure."]


class EvalRecord(Struct, frozen=True):
    """What `dowse eval` found out."""

    collection: Annotated[str, "Its name."]
    documents: Annotated[int | None, "How many were searched; null when run files were judged."]
    queries: Annotated[int, "Queries with judgments."]
    unanswerable: Annotated[int, "Queries that have no answer."]
    unjudged: Annotated[int, "Queries left out because no document was judged to answer them."]
    runs: Annotated[tuple[RunReport, ...], "What each run came to; empty with `--ablate`."]
    comparison: Annotated[ComparisonRecord | None, "With `--compare`."]
    ablation: Annotated[
        tuple[AblationRow, ...], "With `--ablate`; the settings as they hold first."
    ]
    notices: Annotated[tuple[str, ...], "What could not be done, and how to change that."]

    @classmethod
    def of(cls, collection: Collection) -> EvalRecord:
        """The shape before anything is measured."""
        return cls(
            collection=collection.name,
            documents=None,
            queries=len(collection.answerable),
            unanswerable=len(collection.unanswerable),
            unjudged=collection.unjudged,
            runs=(),
            comparison=None,
            ablation=(),
            notices=(),
        )

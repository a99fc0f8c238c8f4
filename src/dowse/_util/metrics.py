"""What a server counts and times, and its page for Prometheus.

Labels are names of routes, stages, projects and kinds of errors: there are few of each, and none
says what anybody searched for.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

from msgspec import Struct, field

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_AT_MOST = (*(f"{seconds:g}" for seconds in _SECONDS), "+Inf")
_ESCAPED = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""Of the page: the text format that every version of Prometheus reads."""

Labels = tuple[str, ...]
"""The values of a metric's labels, in the order of their names."""

Figures = Mapping[str, Mapping[Labels, list[float]]]
"""What each metric has counted, by its name in `Metrics`."""


class Metric(Struct):
    """Figures by labels: a counter that only grows, a gauge, or a histogram."""

    name: str
    help: str
    labels: tuple[str, ...] = ()
    kind: str = "counter"
    _figures: dict[Labels, list[float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def figures(self) -> dict[Labels, list[float]]:
        """Return all of them, as another process can take them."""
        with self._lock:
            return {labels: list(figures) for labels, figures in self._figures.items()}

    def take(self, figures: Mapping[Labels, Sequence[float]]) -> None:
        """Add those of another process."""
        with self._lock:
            for labels, more in figures.items():
                known = self._figures.get(labels, [0] * len(more))
                self._figures[labels] = [one + add for one, add in zip(known, more, strict=True)]

    def lines(self) -> Iterator[str]:
        """Yield what the page says of them."""
        yield f"# HELP {self.name} {self.help}"
        yield f"# TYPE {self.name} {self.kind}"
        for labels, figures in sorted(self.figures().items()):
            yield from self._lines(labels, figures)

    def _lines(self, labels: Labels, figures: Sequence[float]) -> Iterator[str]:
        yield f"{self.name}{_shown(self.labels, labels)} {figures[0]:.15g}"


class Numbers(Metric):
    """Numbers by labels."""

    def add(self, *labels: str, amount: float = 1) -> None:
        """Add to one of them."""
        self.take({labels: [amount]})

    def replace(self, values: Mapping[Labels, float]) -> None:
        """Put others in the place of all of them."""
        with self._lock:
            self._figures = {labels: [value] for labels, value in values.items()}


class Times(Metric):
    """How often something took how long, by labels: counts by time, and the sum of all times."""

    def add(self, *labels: str, seconds: float) -> None:
        """Note a time."""
        counts = [float(place == bisect_left(_SECONDS, seconds)) for place in range(len(_AT_MOST))]
        self.take({labels: [*counts, seconds]})

    def _lines(self, labels: Labels, figures: Sequence[float]) -> Iterator[str]:
        *counts, total = figures
        for at_most, reached in zip(_AT_MOST, accumulate(counts), strict=True):
            shown = _shown((*self.labels, "le"), (*labels, at_most))
            yield f"{self.name}_bucket{shown} {reached:.0f}"
        yield f"{self.name}_sum{_shown(self.labels, labels)} {total:.6f}"
        yield f"{self.name}_count{_shown(self.labels, labels)} {sum(counts):.0f}"


class Metrics:
    """Everything that a server counts; safe from several threads."""

    def __init__(self) -> None:
        self.requests = Numbers(
            "dowse_http_requests_total", "Requests answered.", ("method", "route", "status")
        )
        self.request_seconds = Times(
            "dowse_http_request_seconds",
            "Time until a request was answered.",
            ("route",),
            "histogram",
        )
        self.in_flight = Numbers(
            "dowse_http_requests_in_flight", "Requests under way.", (), "gauge"
        )
        self.searches = Numbers("dowse_searches_total", "Searches.", ("project",))
        self.stage_seconds = Times(
            "dowse_search_stage_seconds",
            "Time that a stage of a search took.",
            ("stage",),
            "histogram",
        )
        self.errors = Numbers("dowse_errors_total", "Requests that failed.", ("kind",))
        self.index_runs = Numbers(
            "dowse_index_runs_total", "Indexing runs that ended.", ("project", "outcome")
        )
        self.indexing = Numbers("dowse_indexing", "Indexing runs under way.", ("project",), "gauge")
        self.generation = Numbers(
            "dowse_index_generation", "Generation of an index.", ("project",), "gauge"
        )
        self.in_flight.add(amount=0)

    def searched(self, project: str, seconds: Mapping[str, float]) -> None:
        """Note a search, and how long each of its stages took."""
        self.searches.add(project)
        for stage, spent in seconds.items():
            self.stage_seconds.add(stage, seconds=spent)

    def figures(self) -> Figures:
        """Return everything, as another process can add it to its own."""
        return {name: metric.figures() for name, metric in vars(self).items()}

    def page(self, others: Iterable[Figures] = ()) -> str:
        """Return the page for Prometheus, with what other processes have counted."""
        whole = Metrics()
        for figures in (self.figures(), *others):
            for name, counted in figures.items():
                getattr(whole, name).take(counted)
        return "\n".join(line for metric in vars(whole).values() for line in metric.lines()) + "\n"


def _shown(names: tuple[str, ...], values: Labels) -> str:
    if not names:
        return ""
    pairs = zip(names, values, strict=True)
    return "{" + ",".join(f'{name}="{value.translate(_ESCAPED)}"' for name, value in pairs) + "}"

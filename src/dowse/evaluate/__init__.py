"""How good is it: judged queries → measures, comparisons, tuning."""

from dowse.evaluate.ablate import BASELINE, AblationRow, Variant, ablate, ablations
from dowse.evaluate.bench import Bench, open_bench
from dowse.evaluate.collections import UNANSWERABLE, read_collection, sample
from dowse.evaluate.compare import SEED, Difference, compare
from dowse.evaluate.measures import NAMES, Measures, mean, measure, measure_queries
from dowse.evaluate.records import Collection, JudgedQuery, Ranked, Run
from dowse.evaluate.report import Latency, RunReport, TypeReport, compare_runs, report
from dowse.evaluate.runs import as_trec, check_ids, check_run, read_trec, search_run

__all__ = [
    "BASELINE",
    "NAMES",
    "SEED",
    "UNANSWERABLE",
    "AblationRow",
    "Bench",
    "Collection",
    "Difference",
    "JudgedQuery",
    "Latency",
    "Measures",
    "Ranked",
    "Run",
    "RunReport",
    "TypeReport",
    "Variant",
    "ablate",
    "ablations",
    "as_trec",
    "check_ids",
    "check_run",
    "compare",
    "compare_runs",
    "mean",
    "measure",
    "measure_queries",
    "open_bench",
    "read_collection",
    "read_trec",
    "report",
    "sample",
    "search_run",
]

"""How good is it: judged queries → measures, comparisons, tuning."""

from dowse.evaluate.ablate import BASELINE, AblationRow, Variant, ablate, ablations
from dowse.evaluate.collections import UNANSWERABLE, read_collection, sample
from dowse.evaluate.compare import SEED, Difference, compare
from dowse.evaluate.measures import NAMES, Measures, mean, measure, measure_queries
from dowse.evaluate.opening import Bench, open_bench
from dowse.evaluate.records import Collection, JudgedQuery, Ranked, Run
from dowse.evaluate.report import Latency, RunReport, TypeReport, compare_runs, report
from dowse.evaluate.runs import check_run, check_writable, read_trec, search_run, write_trec

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
    "check_run",
    "check_writable",
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
    "write_trec",
]

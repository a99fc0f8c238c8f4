"""How good is it: judged queries → measures, comparisons, tuning."""

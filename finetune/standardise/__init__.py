"""Standardising free-text labels into given sectors with a language model.

Path of the data: labels and sectors -> questions (with the running and the target distribution, if wanted)
-> answers -> counts by sector, those outside the set counted apart -> distances to a reference, with intervals.
"""

from __future__ import annotations

from finetune.standardise.outcome import Distances, Outcome, check_outcomes, compare_counts
from finetune.standardise.run import Task, standardise

__all__ = ["Distances", "Outcome", "Task", "check_outcomes", "compare_counts", "standardise"]

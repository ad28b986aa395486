"""Experiments with attention: each a question, variants of a tiny GPT, paired runs, and conclusions that a rule draws.

`finetune experiment NAME` runs one. The way of the data:

    a text (--text, ATTENTION_CORE_DATA, or Python's own reference) --texts--> ids to train on, ids held out
      --an experiment's `run(variant, seed, setting, text)`--> numbers of one run, by `tiny_gpt` and `attention`
      --runs--> one JSON file a run, keyed by its settings, so that an interrupted experiment goes on
      --intervals, conclusions--> paired differences with intervals, and what follows from them
      --report--> a table, a picture, a Markdown page, a JSON file

Files: `experiment` (the records), `table` (the experiments by name), `runs`, `conclusions`, `report`,
`texts`, `tasks` (made-up sequences), `tiny_gpt` (the model, its training and judging), `attention` (a block's
attention with parts to replace), `scores` (score functions), `future` (what leaks), `linear_cost` (attention without a
matrix of scores); every other file is one experiment, and its record is called `EXPERIMENT`.
"""

from __future__ import annotations

"""The first look: a few cheap calls, before any law, that find how a target is called and what it computes.

Path of the data:

* `Session.first_look` calls the contract's `look(runner, implementation, description, seed)` and keeps its `FirstLook`
  (`findings.py`); None where a contract has no first look.
* `functions.py`: `look_at_function`, the first look of the contracts `attention` and `attention-lse`.
* `probes.py`: small problems on which other conventions give other truths; `Asker` sends each request once, and its
  answer is compared with many truths.
* `candidates.py`: the conventions that a function may follow, as changes of the declared record, in all combinations.
* `ranking.py`: under which of them the answers agree, with the fewest changes. Agreement means that every number lies
  within `budget.forward_bound` of the truth, as for the laws.
* `restrictions.py`: what a function leaves out: sizes that it declines, float64, scores below a finite mask;
  `size_conditions.py`: the sizes, as a condition on lengths and widths.
* `whole_rows.py`: functions that cut projected tokens into heads themselves; the contract `self-attention`.
* `parameters.py`: rotations, masks, position tables and biases: under which declared parameters their laws hold.
* `operations.py`: other operations (sigmoid, linear, windowed, ...) with truths of their own and bounds that
  `running_error.py` carries along, for a target that agrees with attention under no conventions.
* `words.py`: the lines of the report; `findings.py` turns the conventions found into options of the command line.
* `engine/second_judgement.py`: the same laws under the conventions found, where the target is not right under those
  declared.

`Report.first_look` holds the findings and `Report.under_found` the report under the conventions found.
"""

from __future__ import annotations

from attention_core.conformance.first_look.findings import FirstLook

__all__ = ["FirstLook"]

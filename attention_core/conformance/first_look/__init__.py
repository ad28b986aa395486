"""The first look: a few cheap calls, before any law, that find how a target is called and what it computes.

Path of the data:

* `Session.first_look` calls the contract's `look(runner, implementation, description, seed)` and keeps its `FirstLook`
  (`findings.py`); None where a contract has no first look.
* `findings.py` also turns the conventions found into options of the command line.
* `second_judgement.py`: the same laws under the conventions found, where the target is not right under those declared.

`Report.first_look` holds the findings and `Report.under_found` the report under the conventions found.
"""

from __future__ import annotations

from attention_core.conformance.first_look.findings import FirstLook

__all__ = ["FirstLook"]

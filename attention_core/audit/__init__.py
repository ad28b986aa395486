"""The audit of people's own tests: which wrong attention would a pytest suite let through?

`attention-core audit TESTS --target package.module:function` puts wrong models from the catalogue of faults in the
place of the target, one after another, and runs the user's own suite on each.

Path of the data:

* `cli.py` reads words, calls `run.audit`, and shows its `results.Audit` (`render_text.py`, `render_html.py`).
* `run.py`: first what must be so before any fault (`baseline.py`), then fault by fault (`trial.py`), then tests for the
  survivors (`survivors.py`). What is done is kept in the log (`log.py`), so that a run goes on.
* `suite.py` runs the suite as a `plan.Plan` says, in a process of its own, `child.py`, which tells of each test in
  frames. `planting.py` replaces the target there, as its module is imported, under every name that it goes by.
* `judge_client.py` holds a process that has imported the target, `judge.py`, which forks for each question: under which
  conventions the target is attention (the first look of `verify`), whether a fault shows under
  them, and by which smallest case.
* `adapter.py` turns a call of the target's into one of the catalogue's and its answer into the target's: the way back
  of `conformance.subjects.binding`. What it cannot turn goes to the user's own function.
* `choice.py`: the faults of a contract in a fixed order, spread over the subjects of the catalogue.
* `results.py`: fates, the score with its interval, and JSON. `progress.py`: how far a run is, and how long it takes.

Only faults count that the laws refute in the target's place under the target's own conventions, in calls that the
target takes: one that agrees with the target on all that it accepts is not another function.
"""

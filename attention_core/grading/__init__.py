"""The grader of generated kernels: verify and time in one go, where the timed answers are the judged ones.

`attention-core grade SUBMISSION --task TASK.toml` says accepted or refused, by which rule and why, and only of an
accepted submission how fast it is beside the task's reference.

Path of the data:

* `cli.py` reads words. `task.py` reads the task: TOML, or the formats of `kernelbench.py` and `flashinfer.py`.
  `batch.py` grades many submissions, each in a process of its own, `judge.py`, which holds what that one must not see.
* `run.py` grades one, and stops at the first rule that is broken. The rules, with their hints and where the cheat was
  published, are the table of `rules.py`.
* `source.py` reads the submission's text before anything runs. Then the laws of `verify` judge it, on cases drawn
  from a hidden seed.
* `measure.py` times it: in turns with the reference, every call on new inputs (`fresh_inputs.py`), every answer judged
  (`truth.py`) once it is in. `stages.py` sets the two processes up, by format. `player.py` holds such a process:
  stopped between its calls, timed from outside. `arena.py` is the memory shared with it, with poison around arrays.
* `child.py` is that process: `problems.py` is what it calls, `forbidden.py` refuses operators in it, `watch.py` sees
  what it replaces.
* `conduct.py`: files of the grader that changed, and processes left behind.
* `results.py` is the grade and its JSON, `render_text.py` shows it.

What the grader relies on lies outside the submission's process: the clock, the truth (computed only after the answer is
in), the comparison, the system's count of its threads' time. What that process says of itself names a reason; it is
never why a submission is accepted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attention_core.grading.results import Grade as Grade
    from attention_core.grading.rules import RULES as RULES
    from attention_core.grading.rules import Rule as Rule
    from attention_core.grading.run import grade as grade
    from attention_core.grading.task import Task as Task
    from attention_core.grading.task import read_task as read_task

_HOMES = {
    "Grade": "results", "RULES": "rules", "Rule": "rules", "grade": "run", "Task": "task", "read_task": "task",
}  # fmt: skip
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)

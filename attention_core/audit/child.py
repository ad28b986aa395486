"""Runs a pytest suite in this process, with something in the target's place, and tells what became of each test.

The plan comes as one message, what happens goes back as messages: a test that starts, a test that ends, and at the end
how often the target was called. Each run has a fork of its own.
Run as `python -m attention_core.audit.child READ WRITE`.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch

import attention_core.audit.choice  # noqa: F401  (torch and the faults are imported once, before any fork)
from attention_core.audit.adapter import Form, adapt, form_of, stand_in
from attention_core.audit.plan import Plan
from attention_core.audit.planting import Planter
from attention_core.declaration.implementation import Implementation, TargetError
from attention_core.worker import frames
from attention_core.worker.child import end_with_the_parent, end_with_the_starting_thread, inherited_pipes

LONGEST = 2000
"""Characters of a failure that are sent."""


class Watch:
    """Calls the target, and notes that it was called and in which form it answered."""

    def __init__(self, original: Callable[..., Any]) -> None:
        self.original = original
        self.calls: Counter[str] = Counter()
        self.forms: list[Form] = []

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """The target's own answer."""
        self.calls["all"] += 1
        result = self.original(*args, **kwargs)
        form = form_of(result)
        if form not in self.forms:
            self.forms.append(form)
        return result


class Telling:
    """A plugin of pytest that tells what happens, replaces the target, and leaves tests out.

    Args: plan, what to do; tell, sends a message.
    """

    def __init__(self, plan: Plan, tell: frames.Tell) -> None:
        self.plan, self.tell = plan, tell
        self.watch: Any = None  # a Watch or an Adapter
        self.problem = ""
        self.planter = Planter(plan.target, self.make) if plan.mode != "plain" else None

    def make(self, original: Any) -> Any:
        """What stands in the target's place."""
        if not callable(original) or isinstance(original, type):
            self.problem = f"{self.plan.target} is not a function"
            return original
        if self.plan.mode == "watch":
            self.watch = Watch(original)
            return adapt(self.watch, original)
        try:
            declared = Implementation(original, name=self.plan.target, **self.plan.fields())
            self.watch = stand_in(original, declared, self.plan.replacement(), Form(**self.plan.form))
        except TargetError as error:
            self.problem = str(error)
            return original
        return adapt(self.watch, original)

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self) -> None:
        """Stand before pytest's own hook for imports, which is there by now."""
        if self.planter is not None:
            self.planter.install()

    @pytest.hookimpl(wrapper=True)
    def pytest_cmdline_main(self, config: Any) -> Any:
        """Run in this process, whatever the suite's own options say of xdist."""
        if hasattr(config.option, "numprocesses"):
            config.option.numprocesses, config.option.dist, config.option.tx = None, "no", []
        return (yield)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        """Leave out the tests that the plan leaves out."""
        left = [item for item in items if item.nodeid in self.plan.leave_out]
        if left:
            config.hook.pytest_deselected(items=left)
            items[:] = [item for item in items if item.nodeid not in self.plan.leave_out]

    def pytest_collection_finish(self) -> None:
        """Replace the target under names that were bound in another way than by importing it."""
        if self.planter is not None:
            self.planter.spread()

    def pytest_collectreport(self, report: Any) -> None:
        """Tell what cannot be collected."""
        if report.failed:
            self.tell({"test": report.nodeid or "collection", "when": "collect", "outcome": "failed",
                       "words": str(report.longrepr)[-LONGEST:]})  # fmt: skip

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Tell which test runs, in case that it never ends."""
        self.tell({"start": nodeid})

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Tell how a test went."""
        words = str(getattr(report.longrepr, "reprcrash", None) or report.longrepr)[:LONGEST] if report.failed else ""
        outcome = report.outcome if not hasattr(report, "wasxfail") else f"x{report.outcome}"
        calls = self.watch.calls["all"] if self.watch is not None else 0
        self.tell({"test": report.nodeid, "when": report.when, "outcome": outcome, "words": words, "calls": calls})

    def report_end(self, status: int) -> None:
        """Tell how the run ended."""
        planter = self.planter
        self.tell({
            "end": status, "calls": dict(getattr(self.watch, "calls", {})), "problem": self.problem,
            "forms": [vars(form) for form in getattr(self.watch, "forms", [])], "path": list(sys.path),
            "imported": planter is not None and planter.original is not None,
            "lacks": planter.lacks if planter is not None else "", "file": planter.path if planter is not None else "",
        })  # fmt: skip


def run_plan(plan: Plan, write: int) -> None:
    """Run the suite of a plan in this process, and end it."""
    status = 1
    try:
        end_with_the_starting_thread()
        os.environ.update(plan.environment)
        if plan.bytecode:  # pytest compiles tests and plugins anew in each run otherwise
            sys.pycache_prefix, sys.dont_write_bytecode = plan.bytecode, False
        sys.path += [folder for folder in plan.path if folder not in sys.path]
        telling = Telling(plan, lambda message: frames.send(write, message))
        found = pytest.main(list(plan.arguments), plugins=[telling])
        telling.report_end(int(found))
        status = 0
    finally:
        os._exit(status)


def warm_up() -> None:
    """Import what most suites of attention import: `assert_close` has half of torch's distributed tensors with it."""
    torch.testing.assert_close(torch.ones(1), torch.ones(1))


def main(arguments: list[str]) -> None:
    """Run the suite of each plan that comes through the pipe, in a fork that has torch and the faults already."""
    read, write = inherited_pipes(arguments)
    end_with_the_parent()  # not with the thread that started this, which may end before
    warm_up()
    while True:
        try:
            plan = Plan.from_json(frames.receive(read))
        except frames.Closed:
            return
        pid = os.fork()
        if pid == 0:
            run_plan(plan, write)
        _, status = os.waitpid(pid, 0)
        frames.send(write, {"status": os.waitstatus_to_exitcode(status)})


if __name__ == "__main__":
    main(sys.argv[1:])

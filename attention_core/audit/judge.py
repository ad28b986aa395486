"""Answers questions about the target and about faults in its place, in a process that has imported the target.

Each question is answered in a fork of this process, which computes nothing itself: what a fault leaves behind dies with
the fork. Run as `python -m attention_core.audit.judge READ WRITE`.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from attention_core.audit.adapter import Form, adapt, describe, require_adaptable, stand_in
from attention_core.audit.first_laws import likely_law
from attention_core.audit.plan import Plan
from attention_core.conformance.contracts import find_contract
from attention_core.conformance.engine.session import Session, select_laws
from attention_core.conformance.engine.verify import saved_fields
from attention_core.conformance.first_look.findings import FirstLook
from attention_core.conformance.subjects.binding import bind
from attention_core.conformance.subjects.law import Law
from attention_core.declaration.implementation import Implementation, TargetError, Unavailable
from attention_core.worker import frames
from attention_core.worker.child import end_with_the_parent, end_with_the_starting_thread, inherited_pipes
from attention_core.worker.target import load_target


class Judge:
    """The target, and the answers to questions about it."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.original = load_target(target)

    def answer(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a question: "look", "fault" or "smallest"."""
        plan = Plan.from_json(question["plan"])
        if question["ask"] == "smallest":
            return self.smallest(plan, str(question["law"]), others=bool(question["others"]))
        return self.look(plan) if question["ask"] == "look" else self.refute(plan)

    def look(self, plan: Plan) -> dict[str, Any]:
        """Under which conventions the target is attention.

        Raises: TargetError, where there are none, or nothing can stand in for the target.
        """
        fields = plan.fields()
        declared = Implementation(self.original, name=self.target, **fields)
        require_adaptable(declared, describe(self.original, declared.array))
        with Session(declared, effort="quick") as session:
            look = session.first_look
            notes = list(session.notes)
        require_attention(self.target, look)
        assert look is not None
        fields |= look.found
        bound = bind(declared.with_(**look.found), describe(self.original, declared.array))
        return {
            "declared": saved_fields(fields), "options": look.options(), "lines": list(look.lines), "notes": notes,
            "claims": sorted(bound.claims),
        }  # fmt: skip

    def session(self, plan: Plan, *, refuses: bool = False, **options: Any) -> Session:
        """A session on what the plan puts in the target's place, under the target's conventions.

        Args: refuses, whether calls that the target itself refuses are refused.
        """
        declared = Implementation(self.original, name=self.target, **plan.fields())
        adapter = stand_in(self.original, declared, plan.replacement(), Form(**plan.form), refuses=refuses)
        replacement = declared.with_(function=adapt(adapter, self.original))
        session = Session(replacement, effort="quick", looks=False, **options)
        session.subject.origin = self.target
        return session

    def refute(self, plan: Plan) -> dict[str, Any]:
        """The first law that refutes what stands in the target's place, "" where none does.

        A law that does so only in calls that the target itself refuses does not count, unless it is about refusals: no
        test of the target would make these calls. "refused" is the name of such a law, where no other sees the fault.
        The law that refuted the fault elsewhere is asked first, alone: a fault may keep what an earlier call left.
        """
        likely = likely_law(plan.fault)
        found = self.refute_by(plan, likely) if likely else {"law": ""}
        return found if found["law"] else self.refute_by(plan)

    def refute_by(self, plan: Plan, only: str = "") -> dict[str, Any]:
        """The answer of `refute` by all laws, or by one of them."""
        refused = ""
        with self.session(plan, shrink=False) as session, ExitStack() as opened:
            strict: Session | None = None
            laws = [law for law in session.laws if only in ("", law.name)]
            for result in session.results(laws):
                if result.status != "refuted":
                    continue
                if result.family != "refusal":
                    strict = strict or opened.enter_context(self.session(plan, refuses=True, shrink=False))
                    if strict.run(select_laws(strict.laws, [result.law])[0]).status != "refuted":
                        refused = refused or result.law
                        continue
                return {"law": result.law, "message": result.message, "refused": ""}
        return {"law": "", "message": "", "refused": refused}

    def smallest(self, plan: Plan, law: str, *, others: bool) -> dict[str, Any]:
        """The smallest case by a law, or the most telling one by others, in calls that the target takes."""
        about_refusals = find_law(plan, law).family == "refusal"
        with self.session(plan, refuses=not about_refusals) as session:
            if others:
                laws = [each for each in session.laws if each.name != law]
                found = session.report(list(session.results(laws))).counterexamples
            else:
                result = session.run(select_laws(session.laws, [law])[0])
                found = [result.counterexample] if result.counterexample is not None else []
        if not found:
            return {"case": None}
        c = found[0]
        return {"case": {"law": c.law, "case": c.case, "message": c.message, "snippet": c.snippet}}


def find_law(plan: Plan, name: str) -> Law:
    """The law of the contract of a plan that has a name."""
    laws = find_contract(str(plan.declared.get("contract", "attention"))).laws
    return select_laws(laws, [name])[0]


def require_attention(target: str, look: FirstLook | None) -> None:
    """Refuse a target that is attention under no conventions: nothing says what a fault of it would be.

    Raises: TargetError.
    """
    if look is None or "contract" in look.found:
        what = "" if look is None else f" (it is judged with --contract {look.found['contract']})"
        call = "attention(query, key, value, ...)"
        raise TargetError(f"{target} cannot be called as {call}{what}: nothing can stand in for it")
    if not look.agrees:
        raise TargetError(
            f"{target} agrees with softmax attention under no conventions that are known: run attention-core verify "
            f"{target} first, and declare what it says"
        )


def respond(judge: Judge, question: Mapping[str, Any], write: int) -> None:
    """Answer in a fork of this process, and wait for it."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            end_with_the_starting_thread()
            frames.send(write, answer_or_problem(judge, question))
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(pid, 0)
    if status:
        frames.send(write, {"problem": f"the process that judged it ended with status {status}"})


def answer_or_problem(judge: Judge, question: Mapping[str, Any]) -> dict[str, Any]:
    """The answer, or what stands against it in one line."""
    try:
        return judge.answer(question)
    except (TargetError, Unavailable) as error:
        return {"problem": str(error)}
    except Exception as error:
        return {"problem": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}


def main(arguments: list[str]) -> None:
    """Answer questions until the other side is gone."""
    read, write = inherited_pipes(arguments)
    end_with_the_parent()  # not with the thread that started this, which may end before
    hello = frames.receive(read)
    sys.path += [folder for folder in hello["path"] if folder not in sys.path]
    try:
        judge = Judge(str(hello["target"]))
    except (TargetError, Unavailable) as error:
        frames.send(write, {"problem": str(error)})
        return
    frames.send(write, {})
    while True:
        try:
            question = frames.receive(read)
        except frames.Closed:
            return
        respond(judge, question, write)


if __name__ == "__main__":
    main(sys.argv[1:])

"""Check cells of a notebook: what a student wrote is judged, and the answer shows itself with the smallest case.

A cell ends with a call such as `check_function(attention)`. Nothing is raised for a wrong or an empty answer, so that a
notebook runs to its end; `Answer.right` tells the two apart.
"""

from __future__ import annotations

import copy
import dis
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import FunctionType
from typing import Any

import numpy as np

from attention_core.conformance.contracts import find_contract
from attention_core.conformance.engine.verify import check_implementation
from attention_core.conformance.report.law_result import Counterexample
from attention_core.conformance.report.results import Report, count
from attention_core.declaration.implementation import Implementation, TargetError, summarize_error
from attention_core.derivation import StepReport, check_document
from attention_core.html_page import render
from attention_core.teaching.common_mistakes import name_mistake
from attention_core.teaching.feedback import describe_case
from attention_core.teaching.selection import mark

PLACE = "ANSWER"
"""Where a student's formula goes in a document."""
PUT = "# put your implementation here:  attention = ..."
"""The line of a counterexample's program that stands for the target."""
COMMAND = re.compile(r"\\[A-Za-z]+")
SILENT = {"RESUME", "NOP", "CACHE", "LOAD_CONST", "RETURN_CONST", "RETURN_VALUE", "COPY_FREE_VARS", "RETURN_GENERATOR"}
"""Instructions of a function that does nothing."""
CLOSE = 1e-9
"""Two numbers that differ by a part of this size are one answer: formulas are rounded in other orders."""
HTML = """\
<div><p><b style="color: {{ 'green' if answer.right else 'firebrick' }}">{{ answer.title }}</b></p>
{% for line in answer.lines %}<p style="margin: .2em 0">{{ line }}</p>
{% endfor %}{% if answer.program %}<pre>{{ answer.program }}</pre>{% endif %}</div>
"""


@dataclass(frozen=True, repr=False)
class Answer:
    """What came of one exercise.

    Args:
        name: of the exercise.
        right: whether it was answered.
        lines: what was found, in sentences.
        program: shows what is wrong; "" where there is nothing to run.

    >>> Answer("scores", False, ("got 1, but should be 2",))
    scores: not yet right
      got 1, but should be 2
    """

    name: str
    right: bool
    lines: tuple[str, ...] = ()
    program: str = ""

    @property
    def title(self) -> str:
        """The name and the verdict."""
        return f"{self.name}: {'right' if self.right else 'not yet right'}"

    def __str__(self) -> str:
        text = "\n  ".join((self.title, *self.lines))
        return f"{text}\n\n{self.program}" if self.program else text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """How a notebook shows it; whatever a student wrote is escaped."""
        return str(render(HTML, answer=self))


def is_unwritten(answer: Any) -> bool:
    """Whether an answer is still `...`, or a function or class that does nothing yet.

    >>> is_unwritten(...), is_unwritten(lambda x: x)
    (True, False)
    """
    if answer is ...:
        return True
    if isinstance(answer, type):
        return any(is_unwritten(part) for part in vars(answer).values() if isinstance(part, FunctionType))
    if not isinstance(answer, FunctionType):
        return False
    steps = list(dis.get_instructions(answer))
    if all(step.opname in SILENT for step in steps):
        return answer.__code__.co_consts[-1:] in ((None,), (...,)) or not steps
    # `scores = ...` is a gap; `x[..., 0]` is not: only what is stored or returned as it is counts.
    return any(
        one.opname == "LOAD_CONST" and one.argval is ... and two.opname.startswith(("STORE_FAST", "RETURN"))
        for one, two in pairwise(steps)
    )


def say_unwritten(name: str) -> Answer:
    """Return the answer to an exercise of which nothing is written.

    >>> say_unwritten("scores").right
    False
    """
    return Answer(name, False, (f"{name} is not written yet: put your answer in place of the three dots.",))


def check_function(
    target: Any, contract: str = "attention", *, laws: Sequence[str] = (), effort: str = "quick", **declared: Any
) -> Answer:
    """Put a function or class through the laws of a contract.

    Args:
        target: what the student wrote.
        contract: which laws apply; `attention-core contracts` lists them.
        laws: names of laws, where not all are to be judged.
        effort: "quick", "standard" or "thorough".
        declared: fields of `Implementation`; other names are parameters of the contract, such as `kind`.

    >>> import torch
    >>> check_function(lambda A: torch.softmax(A, -1), "self-attention-steps", kind="attn_softmax").right
    True
    """
    name = str(declared.pop("name", "") or getattr(target, "__name__", type(target).__name__))
    if is_unwritten(target):
        return say_unwritten(name)
    fields = {key: declared.pop(key) for key in list(declared) if key in Implementation.__dataclass_fields__}
    try:
        subject = Implementation(target, name=name, contract=contract, parameters=declared, **fields)
        report = check_implementation(subject, effort, laws=laws)
    except TargetError as error:
        return Answer(name, False, (_end(str(error)),))
    if report.passed:
        return Answer(name, True, (_describe_search(report),))
    mistake = name_mistake(target, contract, str(declared.get("kind", "")))
    return Answer(name, False, *_explain(report, mistake, name))


def _describe_search(report: Report) -> str:
    held = report.with_status("held")
    problems = count(sum(law.cases for law in held), "problem")
    laws = count(len(held), "chosen law" if report.partial else "law")
    return f"{laws} held on {problems}; no counterexample was found."


def _explain(report: Report, mistake: str, name: str) -> tuple[tuple[str, ...], str]:
    """What is wrong, in sentences, and the program of the smallest case."""
    lines = [f"It looks as if {mistake}"] if mistake else []
    if report.first_look is not None and not mistake:
        lines += [f"At first sight: {line}" for line in report.first_look.lines[1:]]
    lines += report.advice
    examples = report.counterexamples[:1] if report.verdict == "refuted" else []
    if not examples:
        return tuple(map(_end, (*lines, report.reason()))), ""
    found = examples[0]
    sentences = {law.name: law.sentence for law in find_contract(str(report.declared["contract"])).laws}
    lines += [f"Broken law: {sentences[found.law]}", f"What happened: {found.message}"]
    if found.case:
        lines.append(f"The smallest input on which it shows: {describe_case(found.case)}")
    return tuple(map(_end, lines)), _program(found, name)


def _end(line: str) -> str:
    return line if line.endswith((".", "?", "!")) else f"{line}."


def _program(found: Counterexample, name: str) -> str:
    """The program of a counterexample as the next cell of the notebook, which knows the function."""
    lines = [line for line in found.snippet.rstrip().splitlines() if not line.startswith(f"# {found.law}:")]
    return "\n".join(f"attention = {name}  # yours" if line.startswith(PUT) else line for line in lines)


def check_formula(document: str, answer: Any, *, without: Sequence[str] = (), name: str = "answer") -> Answer:
    r"""Check a formula that a student wrote: every step of a document that holds it.

    Args:
        document: Markdown with LaTeX displays, as `attention-core derive` reads it; the formula goes where it says
            ANSWER.
        answer: one formula of LaTeX, without dollar signs.
        without: what may not occur in it, so that a question is not its own answer.
        name: of the exercise.

    >>> check_formula("Let $x \\in \\mathbb{R}$.\n\n$$ (x + 1)^2 = ANSWER $$\n", "x^2 + 2 x + 1").right
    True
    """
    if is_unwritten(answer) or not str(answer).strip():
        return say_unwritten(name)
    text = str(answer).strip()
    if any(sign in text for sign in ("$", "%", "\n", "\\tag", "\\[")):
        return Answer(name, False, ("One formula is asked for, in one line and without dollar signs.",))
    letters = COMMAND.sub(" ", text)  # the p of \epsilon is not a p
    used = [word for word in without if word in (text if "\\" in word else letters)]
    if used:
        return Answer(name, False, (f"Write it without {used[0]}: it is to be worked out.",))
    report = check_document(document.replace(PLACE, text))
    wrong = [step for step in report.steps if not step.passed]
    lines = tuple(line for step in wrong for line in _describe_step(step))
    if report.passed:
        lines = tuple(f"{step.verdict}: {step.evidence.text}." for step in report.steps[-1:])
    return Answer(name, report.passed, lines)


def _describe_step(step: StepReport) -> Iterable[str]:
    yield f"{step.verdict}: {step.text}"
    yield _end(step.evidence.text)
    if step.evidence.advice:
        yield _end(step.evidence.advice)


def check_selection(part: str, *, q: Any = None, Q: Any = None, k_2: Any = None) -> Answer:
    """Mark a query, four queries or a third key for the four given keys.

    Args:
        part: 1.2.1, 1.2.2, 1.3.1, 1.3.2, 1.4.1 or 1.4.2.
        q, Q, k_2: vectors as text: three numbers, or a sum of multiples of `k_0` ... `k_3`; the rows of Q with
            semicolons between them.

    >>> check_selection("1.3.2", q="10*k_0 + 10*k_1").right
    True
    """
    name = f"part {part}"
    given = {key: value for key, value in (("q", q), ("matrix", Q), ("k_2", k_2)) if value is not None}
    if any(map(is_unwritten, given.values())):
        return say_unwritten(name)
    try:
        marks = [one for one in mark(**{key: str(value) for key, value in given.items()}) if one.part.number == part]
    except TargetError as error:
        return Answer(name, False, (_end(str(error)),))
    if not marks:
        return Answer(name, False, ("Another vector is asked for in this part.",))
    one = marks[0]
    lines = [f"{one.part.words}: the error is {one.error:.4f}, and 0.05 is allowed."]
    if one.objection:
        lines.append(f"{one.objection}.")
    return Answer(name, one.met, tuple(lines))


def check_against(
    function: Any,
    truth: Callable[..., Any],
    cases: Iterable[tuple[Any, ...]],
    *,
    hints: Mapping[str, Any] | None = None,
) -> Answer:
    """Compare a function with a right one on cases, the smallest first.

    Args:
        function: what the student wrote.
        truth: a right function of the same parameters.
        cases: arguments by place.
        hints: from the hint to the wrong function whose exact results call for it.

    >>> check_against(lambda a, b: a - b, lambda a, b: a + b, [(0, 0), (1, 2)])
    <lambda>: not yet right
      The first of 2 cases that differs: (1, 2).
      It gives -1, but should give 3.
    """
    name = str(getattr(function, "__name__", type(function).__name__))
    if is_unwritten(function):
        return say_unwritten(name)
    listed = list(cases)
    for case in listed:
        want = truth(*copy.deepcopy(case))
        given = copy.deepcopy(case)
        try:
            got = function(*given)
        except Exception as error:
            fate = f"It raises {summarize_error(error)}, but should give {_show(want)}."
        else:
            if is_same(got, want) and is_same(given, case):
                continue
            fate = f"It gives {_show(got)}, but should give {_show(want)}."
            if is_same(got, want):
                fate = "The result is right, but it writes into its arguments: work on a copy."
        lines = [f"The first of {len(listed)} cases that differs: {_show(case)}.", fate]
        mistakes = (words for words, wrong in (hints or {}).items() if _are_alike(function, wrong, listed))
        return Answer(name, False, (*(f"It looks as if {words}." for words in mistakes), *lines))
    return Answer(name, True, (f"It gives the right result in {count(len(listed), 'case')}.",))


def _are_alike(function: Callable[..., Any], wrong: Callable[..., Any], cases: Sequence[tuple[Any, ...]]) -> bool:
    try:
        return all(is_same(function(*copy.deepcopy(case)), wrong(*copy.deepcopy(case))) for case in cases)
    except Exception:  # it is compared with a guess: how it fails says nothing
        return False


def _show(value: Any) -> str:
    text = ", ".join(map(_show, value)) if isinstance(value, tuple) else ""
    if isinstance(value, tuple):
        return f"({text})"
    if hasattr(value, "tolist"):
        value = value.tolist()
    shown = repr(value)
    return shown if len(shown) <= 200 else f"{shown[:200]} ..."


def is_same(got: Any, want: Any) -> bool:
    """Whether two results are one: numbers but for rounding, arrays by shape and number, the rest by equality.

    >>> is_same([1.0, "a"], [1.0 + 1e-12, "a"]), is_same((1,), 1), is_same(True, 2)
    (True, False, False)
    """
    if hasattr(want, "shape") and hasattr(want, "tolist"):
        if not hasattr(got, "shape") or tuple(got.shape) != tuple(want.shape):
            return False
        a, b = (np.asarray(x.detach() if hasattr(x, "detach") else x) for x in (got, want))
        rounding = CLOSE if b.dtype == np.float64 else 1e-5
        return bool(np.allclose(a, b, rtol=rounding, atol=rounding, equal_nan=True))
    if isinstance(want, float):
        return isinstance(got, (int, float, np.floating)) and math.isclose(got, want, rel_tol=CLOSE, abs_tol=CLOSE)
    if isinstance(want, Mapping):
        return isinstance(got, Mapping) and want.keys() == got.keys() and all(is_same(got[k], want[k]) for k in want)
    if isinstance(want, (list, tuple)):
        fits = isinstance(got, (list, tuple)) and len(got) == len(want)
        return fits and all(is_same(a, b) for a, b in zip(got, want, strict=True))
    return bool(got == want)


def check_list(name: str, checks: Iterable[tuple[str, bool | None, str]]) -> Answer:
    """Return the answer that single checks make.

    Args:
        name: of the exercise.
        checks: what was judged, whether it is right (None: it costs more than it has to), and why not.

    >>> check_list("train", [("dropout is on", False, "call model.train()")]).lines
    ('Wrong: dropout is on (call model.train()).',)
    """
    listed = list(checks)
    wrong = [f"Wrong: {what}{f' ({why})' if why else ''}." for what, right, why in listed if right is False]
    dear = [f"Right, at a cost: {what} ({why})." for what, right, why in listed if right is None]
    met = [f"{count(sum(right is True for _, right, _ in listed), 'check')} passed."] if not wrong else []
    return Answer(name, not wrong and bool(listed), (*wrong, *met, *dear))

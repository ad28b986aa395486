"""Checking documents.

The way through a document: its steps are read, each is decided under a ceiling of time, and all are reported.
A step that cannot be read is reported as such and the rest of the document goes on.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from attention_core.derivation.claims import why_unreadable
from attention_core.derivation.document.encodings import read_text
from attention_core.derivation.document.notebook import find_cells, notebook_to_markdown
from attention_core.derivation.document.source import MAX_CHARACTERS
from attention_core.derivation.effort import Effort
from attention_core.derivation.graph.nodes import Unsettled
from attention_core.derivation.judge import judge_step
from attention_core.derivation.latex.shown_names import show_names, show_names_in, show_set_sizes
from attention_core.derivation.latex.syntax import Unreadable
from attention_core.derivation.reading.step import Step, Unread
from attention_core.derivation.reading.steps import steps_of
from attention_core.derivation.records import (
    Counterexample,
    DocumentReport,
    Evidence,
    Finding,
    StepReport,
    Verdict,
)
from attention_core.derivation.terms.terms import ShapeMismatch

Tell = Callable[[StepReport, int, int], object]
NO_DISPLAY = "the document has no display: write what it claims between $$ and $$"


def internal(error: Exception) -> str:
    """The message on an unexpected exception of a step, and where it came from."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"internal error {what} ({Path(last.filename).name}, {last.name}): please report the document"


def report_step(step: Step | Unread, effort: Effort, require: str = "", necessity: bool = False) -> StepReport:
    """Decide and report one step."""
    start = time.perf_counter()
    expected = next((o.value for o in reversed(step.options) if o.key == "expect"), "")
    if expected not in ("", "refuted"):
        step = Unread(step.id, step.line, step.text, f"'% expect: {expected}' is not understood: only 'refuted' is", [])
        expected = ""
    if isinstance(step, Unread):
        evidence = Evidence(show_names(step.message), {"sentence": True} if step.sentence else {})
        text = show_set_sizes(step.text)
        return StepReport(step.id, step.line, text, Verdict.UNREADABLE, evidence, expected=expected)
    try:
        found = judge_step(step, effort, not expected, necessity)
    except RecursionError:
        found = Finding(Verdict.UNREADABLE, Evidence("the formula is nested too deeply"))
    except Exception as error:  # a fault of the checker in one step: reported there, and the other steps are checked
        found = Finding(Verdict.UNDECIDED, Evidence(internal(error)))
    about = (
        step.id,
        step.line,
        show_set_sizes(step.text),
        found.verdict,
        *_show_names_of(found),
        time.perf_counter() - start,
    )
    return StepReport(*about, expected, required=require, claim=partial(_write_claim, step), opens=step.opens)


def _show_names_of(found: Finding) -> tuple[Evidence, Counterexample | None]:
    """The evidence and the counterexample with names as the document writes them."""
    evidence, example = found.evidence, found.counterexample
    shown = Evidence(show_names(evidence.text), show_names_in(evidence.figures), show_names(evidence.advice))
    return shown, example and replace(example, values=show_names_in(example.values), where=show_names(example.where))


def _write_claim(step: Step) -> Any:
    """The claim of a step as a SymPy relation."""
    from attention_core.derivation.exchange.to_sympy import step_to_sympy

    try:
        return step_to_sympy(step)
    except (Unreadable, ShapeMismatch, Unsettled) as error:
        raise ValueError(f"{step.id} has no claim to write: {error}") from None


def _cells_of(name: str) -> tuple[tuple[int, int], ...]:
    """The cells of a notebook; none of another document, or of one that is not read."""
    if not name.endswith(".ipynb"):
        return ()
    try:
        return find_cells(read_text(Path(name)))
    except (OSError, Unreadable):
        return ()


def read_document(path_or_text: str | Path) -> tuple[str, str]:
    """Name and text of a document without its byte-order mark; text has a line break or a `$`, or is blank.

    Raises:
        OSError: The file cannot be opened.
        Unreadable: Its encoding is not known, or a file `*.ipynb` is not a notebook.
    """
    if isinstance(path_or_text, str) and ("\n" in path_or_text or "$" in path_or_text or not path_or_text.strip()):
        return "<text>", path_or_text.removeprefix("\ufeff")
    path = Path(path_or_text)
    text = read_text(path)
    return str(path_or_text), notebook_to_markdown(text) if path.suffix == ".ipynb" else text


def read_document_anyhow(path: Path) -> str:
    """The text of a document; of a file that is refused, with a mark for each byte that is not UTF-8.

    Raises:
        OSError: The file cannot be opened.
    """
    try:
        return read_document(path)[1]
    except Unreadable:
        return path.read_bytes().decode("utf-8-sig", "replace")


def document_steps(
    path_or_text: str | Path, *, infer: bool = False, formulas: bool = False, as_read: bool = False
) -> tuple[str, list[Step | Unread], list[tuple[int, str]]]:
    """Name, steps and understood declarations of a document; there is at least one step, if only one that says why."""
    try:
        name, text = read_document(path_or_text)
    except Unreadable as error:
        return str(path_or_text), [Unread(f"line-{error.line}", error.line, "", error.message)], []
    if len(text) > MAX_CHARACTERS:
        return name, [Unread("line-1", 1, "", f"the document has more than {MAX_CHARACTERS} characters: split it")], []
    steps, understood = steps_of(text, infer or as_read, why_unreadable, formulas or as_read)
    for step in steps if as_read else ():
        if isinstance(step, Step):
            for one in filter(None, (step, step.plain)):
                one.as_read = True
    if not steps:
        why = "no display claims anything: there is nothing to check" if understood else NO_DISPLAY
        steps = [Unread("line-1", 1, "", why)]
    return name, steps, [(line, show_names(words)) for line, words in understood]


def names_of_step(step: Step | Unread) -> set[str]:
    """The names that choose a step: its own, and the one that it shares with the other relations of its display."""
    return {step.id, step.id.split("[")[0]}


def check_document(
    path_or_text: str | Path,
    *,
    effort: Effort | None = None,
    require: str = "",
    only: Sequence[str] = (),
    necessity: bool = False,
    infer: bool = False,
    formulas: bool = False,
    as_read: bool = False,
    witness: bool = False,
    tell: Tell | None = None,
) -> DocumentReport:
    r"""Check every step of a document.

    Args:
        path_or_text: a path, or the text itself (recognised by a line break or a `$`).
        effort: how much is tried, see `Effort`.
        require: "exact" or "proved" to ask for more than agreement.
        only: names of the steps to check; a name without its number means all that share it.
        necessity: also drop each hypothesis in turn; `evidence.figures["necessity"]` says which are needed.
        infer: read undeclared symbols as their use suggests; what rests on such a reading names it, and is refuted
            only where one small change makes it an identity. Without it such a step is UNREADABLE.
        formulas: take it as promised that all hypotheses of the document are formulas, so that words beside a step
            leave no verdict open.
        as_read: take what undeclared symbols are read as for declared, as if somebody had looked at the readings and
            found them right; formulas are the only hypotheses then. What is false as it was read is REFUTED.
        witness: also ask SymPy about equations between numbers; its answer is noted and changes no verdict.
        tell: called with each step that is decided, how many are, and of how many; what it raises ends the check.

    Returns:
        The report with one record for each relation, in the order of the document.

    Raises:
        OSError: the file cannot be read.
        ValueError: `require` is none of these.

    Example:
        >>> check_document("Let $x \\in \\mathbb{R}$.\n\n$$ (x + 1)^2 = x^2 + 2 x + 1 $$\n").passed
        True
    """
    if require not in ("", "exact", "proved"):
        raise ValueError(f"require is 'exact' or 'proved', not {require!r}")
    name, steps, understood = document_steps(path_or_text, infer=infer, formulas=formulas, as_read=as_read)
    chosen = [s for s in steps if not only or names_of_step(s) & set(only)]
    missing = [one for one in only if not any(one in names_of_step(s) for s in steps)]
    if missing and any(s.text for s in steps):
        names = ", ".join(s.id for s in steps[:12]) + (f" and {len(steps) - 12} more" if len(steps) > 12 else "")
        chosen.append(
            Unread("line-1", 1, "", f"no step is named {', '.join(missing)}; there are {names}: name one of them")
        )
    chosen = chosen or steps
    effort = effort or Effort()
    reports = []
    for step in chosen:
        reports.append(report_step(step, effort, require, necessity))
        if tell is not None:
            tell(reports[-1], len(reports), len(chosen))
    if witness:
        from attention_core.derivation.exchange.witness import add_answer

        reports = [add_answer(step, report) for step, report in zip(chosen, reports, strict=True)]
    return DocumentReport(name, tuple(reports), tuple(understood), _cells_of(name))

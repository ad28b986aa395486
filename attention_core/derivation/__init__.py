r"""Write mathematics, get every step checked.

Derivations: a document with formulas goes in, one verdict for every relation of every display comes out.
Importing this package is light; `check_document` brings Lark and python-flint in when it is first used.

The rooms, in the order in which a document passes through them::

    latex        LaTeX -> syntax trees, and back as LaTeX or MathML
    document     text -> blocks, displays, statements with their lines
    graph        the scalar graph, exact rationals and balls of its nodes, comparison of two sides
    algebra      normal forms: proofs of equality (EXACT)
    limits       asymptotic expansions decide limits
    terms        typed terms, shapes, and the context that declares their symbols
    elaborate    syntax trees + context -> typed terms
    words        words of prose: which restrict, which do not, which were left over
    inference    undeclared symbols: kinds and shapes from their use
    reading      declarations, assumptions and steps of a document
    lowering     terms at sizes -> nodes of the graph
    claims       the typed claim of a step
    probability  distributions, moments, random samples
    cases        cases that satisfy the hypotheses, generated and shrunk
    proofs       proofs at all sizes (PROVED), certified contradictions
    search       searches for a counterexample
    decision     the verdict of a step, and advice
    exchange     claims as SymPy relations, SymPy as a witness
    report       checked documents as HTML

`check` takes a document through them; `records` are its results, `effort` says what a step may cost;
`sympy_relations` checks relations that come from SymPy; `cli` is `attention-core derive`; `collection` makes pytest
items of steps; `show` prints them, `editors` checks them where they are written.

Specification of the text that is read: docs/derivations.md and the pages that it names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attention_core.derivation.records import Counterexample, DocumentReport, Evidence, StepReport, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from attention_core.derivation.effort import Effort


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
    tell: Callable[[StepReport, int, int], object] | None = None,
) -> DocumentReport:
    """Check every step of a document.

    `infer=True` gives the verdicts of the command `attention-core derive`; without it nothing is inferred.

    Args:
        path_or_text: a path, or the text itself (recognised by a line break or a `$`).
        effort: `attention_core.derivation.effort.Effort(seconds=..., seed=...)`: what is tried for one step.
        require: "exact" or "proved" to ask for more than agreement.
        only: names of the steps to check.
        necessity: also drop each hypothesis in turn; `evidence.figures["necessity"]` says which are needed.
        infer: read undeclared symbols by their use; without it a step with one is UNREADABLE.
        formulas: promise that all hypotheses are formulas, so that words beside a step leave no verdict open.
        as_read: take the readings of undeclared symbols as declared, and formulas as the only hypotheses.
        witness: also ask SymPy about equations between numbers; its answer changes no verdict.
        tell: called with each step that is decided, how many are, and of how many.

    Returns:
        The report: `.steps`, each with verdict, evidence and counterexample, and `.passed`.

    Raises:
        OSError: the file cannot be read.
        ValueError: `require` is none of these.
    """
    from attention_core.derivation.check import check_document as check

    return check(
        path_or_text, effort=effort, require=require, only=only, necessity=necessity, infer=infer, formulas=formulas,
        as_read=as_read, witness=witness, tell=tell,
    )  # fmt: skip


def check_relation(relation: Any, assuming: Iterable[Any] = (), **options: Any) -> StepReport:
    """Check a SymPy relation; see `attention_core.derivation.sympy_relations.check_relation`."""
    from attention_core.derivation.sympy_relations import check_relation as check

    return check(relation, assuming, **options)


def load_ipython_extension(shell: Any) -> None:
    """Give a notebook the cell magic `%%derive`; see `attention_core.derivation.editors.magic.register`."""
    from attention_core.derivation.editors.magic import register

    register(shell)


__all__ = [
    "Counterexample",
    "DocumentReport",
    "Evidence",
    "StepReport",
    "Verdict",
    "check_document",
    "check_relation",
]

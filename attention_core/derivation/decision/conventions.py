r"""Conventions that other authors share and this checker does not: row gradients, $e^A$ of a matrix, Einstein's sums.

A step that is false as we read it and true, or not decidable, as others do is not REFUTED: it is UNDECIDED, and the
message names the reading and how to write the step so that there is only one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from attention_core.derivation.claims import claim_of
from attention_core.derivation.decision.law_parameters import MEANS, take_for_means
from attention_core.derivation.elaborate.calls import SOFTMAX_OF_COLUMNS
from attention_core.derivation.elaborate.intermediates import intermediate
from attention_core.derivation.elaborate.matrix_functions import (
    ASCENDING,
    ENTRYWISE_NORMS,
    SPECTRAL_NORM,
    VEC_BY_ROWS,
)
from attention_core.derivation.elaborate.products import (
    DENOMINATORS,
    LAPLACIAN,
    ROW_GRADIENTS,
    is_hessian,
)
from attention_core.derivation.elaborate.row_functions import SAMPLE_VARIANCE
from attention_core.derivation.graph.nodes import Unsettled
from attention_core.derivation.inference.inner_letters import integral_letters
from attention_core.derivation.inference.usage import walk
from attention_core.derivation.inference.written_differentials import may_be_of_changes
from attention_core.derivation.latex.printer import symbol_name
from attention_core.derivation.latex.syntax import Name, Sub, Unreadable
from attention_core.derivation.reading.repeated_indices import repeated_letters
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import Counterexample
from attention_core.derivation.terms.context import Context, Symbol
from attention_core.derivation.terms.terms import SCALAR, Relation, ShapeMismatch, Term, transpose

Reading = tuple[str, Context]  # what it says, and the context that reads so
MAX_PEERS = 30  # steps of a document that may tell whether its vectors are columns
_TRANSPOSE = re.compile(r"\\top\b|\\intercal\b|\^\s*\{?\s*(?:T|\\prime|\\mathsf|\\mathrm)\b|'")
_ORDERS = ("<", "<=", ">", ">=")
_TENS = re.compile(r"(?<![\d.])(?:10+|0?\.0*1)(?![\d.])")
_DEVIATIONS = re.compile(r"^(?:\\sigma|\\tau|s)(?![a-zA-Z])")
_LOG_OF_NUMBER = re.compile(
    r"\\log\s*(?:\\left\s*)?[({]?\s*(?:\\[dt]?frac\s*\{?\s*)?\d[\d.]*\s*(?:[)}=<>,/]|\\[a-z]|$)"
)
_BITS = re.compile(  # documents that may take logarithms to base 2
    r"\b(?:bits?|base|binary|information|entrop\w+|shannon|cod(?:e|es|ing)|surprisal|perplexit\w+|trees?|doubling|"
    r"halv\w+|log ?2)\b",
    re.IGNORECASE,
)
EINSTEIN = (
    "with sums over repeated indices (Einstein's convention); here nothing is summed: write \\sum, or 'Repeated "
    "indices are summed.' above"
)
_COLUMNS = "with the softmax over columns; here it runs over rows: transpose inside and outside"
_ROW = (
    "with gradients of numbers as rows (numerator layout); here a gradient has the shape of its variable: transpose it"
)
_TURNED = r"with Jacobians in denominator layout; here $J_{ij} = \partial y_i / \partial x_j$: transpose it"


def readings(step: Step, claim: Relation | None) -> Iterator[Reading]:
    """The contexts under which other conventions read a step that ours finds false.

    Args:
        step: The step.
        claim: Its relation as we read it, None where its shapes do not fit.
    """
    context, text = step.context, step.text
    if _SLOPES.search(text):
        yield from _other_layouts(step)
    if (columns := softmax_of_columns(step)) is not None:
        yield columns[0], columns[1].context
    elif "softmax" in text:
        yield _COLUMNS, _with(context, SOFTMAX_OF_COLUMNS)
    if r"\log" in text and not re.search(r"\be\^|\\exp|\\ln|softmax|\\partial|\\nabla", text):
        if _LOG_OF_NUMBER.search(text) or any(_BITS.search(one.words) for one in step.far_words):
            yield r"with logarithms to base 2; here \log is natural: write \log_2", _with(context, "base 2")
        if step.op not in _ORDERS or _TENS.search(text):  # a bound on smaller logarithms is another claim
            yield r"with logarithms to base 10; here \log is natural: write \log_{10}", _with(context, "base 10")
    if (norms := other_norms(step)) is not None:
        yield norms[0], norms[1].context
    yield from _other_operators(step)
    if r"{vec}" in text:
        yield (
            "with the rows of the matrix in vec; here it stacks columns: transpose what stands in it",
            _with(context, VEC_BY_ROWS),
        )
    if r"\lambda_" in text:
        yield "with the smallest eigenvalue first; here the largest is \\lambda_1", _with(context, ASCENDING)
    deviations = _with_deviations(context)
    if deviations is not None:
        yield (
            r"with the second parameter of \mathcal{N} as the deviation; here it is the variance: write \sigma^2",
            deviations,
        )
    if (means := take_for_means(step)) is not None:
        yield MEANS, means
    rows = _with_rows(step, claim is None)
    if rows is not None:
        yield (
            r"with vectors as rows; here $x \in \mathbb{R}^d$ is a column: write $x \in \mathbb{R}^{1 \times d}$",
            rows,
        )


def _other_layouts(step: Step) -> Iterator[Reading]:
    """The contexts in which gradients and Jacobians are written in another layout than in that of the document."""
    used = step.context.readings & {ROW_GRADIENTS, DENOMINATORS}
    if used:
        yield _OURS, _with(step.context)
    for words, names in _LAYOUTS:
        if set(names) != used and not _is_refused_by_shapes(step, names):
            yield words, _with(step.context, *names)


_OURS = (
    r"with gradients of the shape of their variable and $J_{ij} = \partial y_i / \partial x_j$, in another layout than "
    "the document says"
)
_LAYOUTS = (
    (_ROW, (ROW_GRADIENTS,)),
    (_TURNED, (DENOMINATORS,)),
    (f"{_ROW}, and Jacobians too", (ROW_GRADIENTS, DENOMINATORS)),
)


def _is_refused_by_shapes(step: Step, layout: tuple[str, ...]) -> bool:
    """Whether the shapes of another step of the document fit as we read gradients, and do not in another layout."""
    for peer in step.peers[:MAX_PEERS]:
        if not isinstance(peer, Step) or peer is step or not _SLOPES.search(peer.text):
            continue
        if has_shapes(peer) and not has_shapes(replace(peer, context=_with(peer.context, *layout))):
            return True
    return False


def has_shapes(step: Step) -> bool:
    """Whether the shapes of a step fit.

    Args: step.
    """
    try:
        claim_of(step)
    except (Unreadable, ShapeMismatch, RecursionError):
        return False
    except Unsettled:
        pass
    return True


_SLOPES = re.compile(r"\\partial|\\nabla|\\frac\{\s*d|\\mathrm\{d\}")


def _other_operators(step: Step) -> Iterator[Reading]:
    """The contexts in which a Hessian is a Laplacian, and a variance divides by one less."""
    context, text = step.context, step.text
    if any(is_hessian(node) for side in (step.left, step.right) for node in walk(side)):
        yield r"with $\nabla^2$ as the Laplacian; here it is the Hessian: take the trace", _with(context, LAPLACIAN)
    if re.search(r"\{(?:\\math\w+\{)?\s*(?:var|std)\s*\}", text, re.IGNORECASE):
        yield (
            "with the variance over n - 1; here it divides by the number of entries: write the factor",
            _with(context, SAMPLE_VARIANCE),
        )


_INDEXED_NORM = re.compile(r"(?:\\\||\\(?:rVert|Vert))\s*_\s*\{?\s*(?:1|2|\\infty)(?![a-zA-Z\d])")


_BOLD_PI = re.compile(r"\\(?:mathbf|boldsymbol|bm|bf|vec|pmb)(?![a-zA-Z])\s*\{?\s*\\(?:bf\s*\\)?pi(?![a-zA-Z])")


def has_read_side(step: Step) -> bool:
    """Whether a side is a symbol that nothing declares: a promise about hypotheses leaves open that it is defined.

    Args:
        step: A false step.
    """
    heads = {symbol_name(side) for side in (step.left, step.right) if isinstance(side, Name | Sub)}
    return bool(heads & set(step.context.inferred))


def find_bold_constant(step: Step) -> str:
    r"""What to say of a $\boldsymbol{\pi}$ that nothing declares: it may be a vector; '' where there is none.

    Args:
        step: A false step.
    """
    bold = r"\pi" not in step.context.symbols and _BOLD_PI.search(step.text)
    return (
        r"$\pi$ is written in bold, and may be a vector: declare it, as in 'Let $\pi \in \mathbb{R}^n$'" if bold else ""
    )


def other_norms(step: Step) -> tuple[str, Step] | None:
    r"""A step with `\|A\|_2` or the like over the entries of A, where the document does not say which it means."""
    if SPECTRAL_NORM in step.context.stated or not _INDEXED_NORM.search(step.text):
        return None
    words = r"with norms of matrices over their entries; here \|A\|_1, \|A\|_2 and \|A\|_\infty are induced by vectors"
    return words, replace(step, context=_with(step.context, ENTRYWISE_NORMS))


def softmax_of_columns(step: Step) -> tuple[str, Step] | None:
    """A step with every softmax over columns, in definitions as well, where the document says that one runs so."""
    if SOFTMAX_OF_COLUMNS not in step.context.stated:
        return None
    context = _with(step.context, SOFTMAX_OF_COLUMNS)
    for name, symbol in step.context.symbols.items():
        if symbol.term is not None:
            context.symbols[name] = replace(symbol, term=_turn_softmax(symbol.term))
    return f"{_COLUMNS}, and leave out words of columns", replace(step, context=context)


def _turn_softmax(term: Term) -> Term:
    """A term with every softmax of the rows of a matrix as one of its columns."""
    args = tuple(_turn_softmax(one) for one in term.args)
    same = all(one is other for one, other in zip(args, term.args, strict=True))
    out = term if same else replace(term, args=args)
    if out.op != "softmax" or out.args[0].type.vector:
        return out
    turned = transpose(out.args[0])
    return transpose(Term("softmax", (turned,), turned.type))


_OF_MATRICES = frozenset(["exp", "log", "sin", "cos", "sinh", "cosh"])  # those that authors take of matrices as well


def doubtful(step: Step, claim: Relation | None, example: Counterexample | None) -> str:
    """The convention under which a refuted step may hold and which cannot be tried; '' if there is none."""
    if letter := _einstein(step):
        return (
            f"with a sum over the repeated index {letter} (Einstein's convention); here nothing is summed: write "
            f"\\sum_{{{letter}}}, or expand the product"
        )
    if may_be_of_changes(step.context, step.left, step.right):
        return "with d as the sign of differentials; here d is a symbol: write 'In differentials,' above the display"
    if claim is None:
        return ""
    parts = [part for side in (claim.left, claim.right) for part in side.walk()]
    for part in parts:
        if part.op == "deriv" and (free := _independent(step.context, part)):
            return (
                f"where {free} depends on what it is differentiated by; here {free} is a symbol of its own, so the "
                f"derivative is 0: write 'Put ${free} := ...$'"
            )
    if held := _find_held_variable(claim):
        return f"where the derivative by {held} holds what is defined by it fixed; here it reaches through all of it"
    if functions := sorted({p.op for p in parts if p.op in _OF_MATRICES and _square(p)}):
        names = " and ".join(["exp", "log"] if set(functions) <= {"exp", "log"} else functions)
        return f"with a function of a matrix, such as its power series; here {names} are taken entry by entry"
    norms = [p.args[0] for p in parts if p.op == "norm" and p.args and _is_matrix(p.args[0])]
    if norms and not re.search(r"_\s*\{?\s*(?:\\(?:text|mathrm)\{)?F", step.text):
        sizes = {} if example is None else {k: v for k, v in example.values.items() if isinstance(v, int)}
        if not all(_one_line(term, sizes) for term in norms):
            return r"with the norm of a matrix as its largest singular value; here it is Frobenius's: write \|A\|_F"
    return ""


def _find_held_variable(claim: Relation) -> str:
    r"""The variable of $\partial z/\partial x$ beside $\partial z/\partial y$, where y is defined by x; '' if none is.

    In $dz/dx = \partial z/\partial x + \partial z/\partial y \, dy/dx$ the first holds y fixed.
    """
    for side in (claim.left, claim.right):
        slopes = [part for part in side.walk() if part.op == "deriv"]
        for slope in slopes:
            through = intermediate(slope.args[1])
            if through is None:
                continue
            inside = list(through.args[0].walk())
            for other in slopes:
                by = intermediate(other.args[1]) or _variable_of(other.args[1])
                same = other.args[0] == slope.args[0]
                if same and other.args[1] != slope.args[1] and any(_is_same(part, by) for part in inside):
                    return str(by.data) if by.op == "leaf" else "a quantity"
    return ""


def _variable_of(by: Term) -> Term:
    while by.op == "entry":
        by = by.args[0]
    return by


def _is_same(part: Term, by: Term) -> bool:
    return part.op == by.op and part.data == by.data and (part.op == "leaf" or part.args[:1] == by.args[:1])


def _independent(context: Context, slope: Term) -> str:
    """The symbol that is differentiated, if what is differentiated does not mention the variable; '' if it does."""
    body, by = slope.args
    if by.op == "marked":  # the argument of a function
        return ""
    names = {str(p.data) for p in body.walk() if p.op in ("leaf", "member")} & set(context.symbols)
    variable = {str(p.data) for p in by.walk() if p.op in ("leaf", "member")}
    return "" if names & variable else min(names, default="")


def _with(context: Context, *names: str) -> Context:
    layouts = {ROW_GRADIENTS, DENOMINATORS}
    kept = context.readings - layouts if layouts & set(names) or not names else context.readings
    return replace(context.copy(), readings=frozenset(names) | kept)


def _square(term: Term) -> bool:
    return term.type.kind == "matrix" and term.type.rows == term.type.cols and not term.type.vector


def _is_matrix(term: Term) -> bool:
    return term.type.kind == "eye" or (term.type.kind == "matrix" and not term.type.vector)


def _one_line(term: Term, sizes: dict[str, int]) -> bool:
    """Whether a matrix has one row or one column at these sizes, so that all its norms agree."""
    try:
        return 1 in (term.type.rows.value(sizes), term.type.cols.value(sizes))
    except KeyError:
        return False


def _with_deviations(context: Context) -> Context | None:
    """The context with $\\sigma$ for $\\sigma^2$ in normal laws, None if no law is written so."""
    out = context.copy()
    for name, symbol in context.symbols.items():
        law = symbol.law
        if law is None or law.name != "normal":
            continue
        spread = law.parameters[1]
        if squared := _square_spread(spread):
            out.symbols[name] = replace(symbol, law=replace(law, parameters=(law.parameters[0], squared)))
    return out if any(out.symbols[n] is not s for n, s in context.symbols.items()) else None


def _square_spread(spread: Term) -> Term | None:
    if spread.op == "leaf" and spread.type.scalar and _DEVIATIONS.match(str(spread.data)):
        return Term("mul", (spread, spread), SCALAR)
    if spread.op == "mul" and spread.args[1].op == "eye" and (inner := _square_spread(spread.args[0])):
        return replace(spread, args=(inner, spread.args[1]))
    return None


def _with_rows(step: Step, misfit: bool) -> Context | None:
    """The context with all declared columns as rows; None where the step has none, or where it cannot be tried.

    Definitions and hypotheses have shapes already: where they speak of a column, only a misfit of shapes is tried.
    """
    context = step.context
    columns = {n for n, s in context.symbols.items() if _is_column(s) and s.law is None}
    used = columns & collect_symbols(step)
    if not used:
        return None
    tied = any(used & h.mentions for h in context.hypotheses) or any(
        s.mentions & columns and s.term is not None and n in collect_symbols(step) for n, s in context.symbols.items()
    )
    if not misfit and (tied or not _TRANSPOSE.search(step.text)):
        return None
    if any(
        _needs_columns(peer, columns) for peer in step.peers[:MAX_PEERS] if isinstance(peer, Step) and peer is not step
    ):
        return None
    return _transpose_columns(context, columns, tied)


def _transpose_columns(context: Context, columns: set[str], tied: bool) -> Context:
    """The context with these columns as rows."""
    out = context.copy()
    for name in columns:
        symbol = context.symbols[name]
        assert symbol.type is not None
        out.symbols[name] = replace(symbol, type=symbol.type.transpose)
    if tied:
        out.hypotheses = [h for h in out.hypotheses if not columns & h.mentions]
    return out


def _needs_columns(step: Step, columns: set[str]) -> bool:
    """Whether the shapes of another step of the document fit with columns, and with rows do not."""
    known = step.context.symbols  # a letter may be something else in another section
    here = {n for n in columns & collect_symbols(step) if n in known and _is_column(known[n])}
    if not here:
        return False
    for context, fits in ((step.context, True), (_transpose_columns(step.context, here, True), False)):
        try:
            claim_of(replace(step, context=context))
        except (Unreadable, Unsettled):
            return False
        except ShapeMismatch:
            return not fits
    return False


def _is_column(symbol: Symbol) -> bool:
    kind = symbol.type
    return symbol.kind in ("array", "family") and kind is not None and kind.vector and kind.column and not kind.scalar


def collect_symbols(step: Step) -> frozenset[str]:
    """The declared symbols that a step depends on: those it mentions, and those that these are declared by."""
    from attention_core.derivation.latex.printer import all_names

    nodes = [step.left, step.right, *step.conditions, *(c for chain, _ in step.assumed for c in chain.exprs)]
    known = step.context.symbols
    found = {n for node in nodes for n in all_names(node) if n in known}
    if r"\int" in step.text:  # what is integrated over stands for itself
        found &= {n for node in nodes for n in all_names(node) - integral_letters(node)}
    while True:
        more = {m for n in found for m in known[n].mentions if m in known} - found
        more |= {n for n, s in known.items() if s.kind == "complex" and s.mentions & found} - found  # of its two parts
        if not more:
            return frozenset(found)
        found |= more


def _einstein(step: Step) -> str:
    """An index that is repeated in a product on one side and does not stand on the other, '' if there is none."""
    for side, other in ((step.left, step.right), (step.right, step.left)):
        if letter := next(repeated_letters(step.context, side, other), ""):
            return letter
    return ""

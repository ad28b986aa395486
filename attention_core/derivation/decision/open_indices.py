r"""Undeclared indices: `\frac{\partial p_i}{\partial z_j} = p_i (\delta_{ij} - p_j)` of declared p and z.

What else is undeclared may be read in several ways, and nothing is refuted by one of them. A letter that stands at the
axis of a declared array is an index of that axis in every reading. What is open is which of its values are meant: all,
or, of two indices, those that differ, those that are equal, or one side of the diagonal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from attention_core.derivation.decision.conventions import collect_symbols
from attention_core.derivation.elaborate.hypotheses import relations_of
from attention_core.derivation.graph.nodes import Unsettled
from attention_core.derivation.inference.usage import walk
from attention_core.derivation.latex.printer import all_names, symbol_name
from attention_core.derivation.latex.syntax import Big, Unreadable
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import GOOD, Finding, Verdict
from attention_core.derivation.terms.context import Symbol
from attention_core.derivation.terms.terms import Relation, ShapeMismatch
from attention_core.derivation.words.caveats import chains_of

_COMPARES = re.compile(r"\\delta|\\mathbf\s*\{?1\}?\s*[\[(_{\\]|\\mathbb\s*\{?[1I]|\\mathbf\s*\{?I|\\operatorname\{1\}")
"""Steps that tell equal indices from others themselves, and mean both."""

Decide = Callable[[Step, Sequence[Relation]], Finding]


_CERTAIN = ("(an index)", "(a number of rows or columns)", "says so)")
"""Readings that leave nothing open: an index, a size in a domain that is written, and a domain in a sentence."""


_HIDES = re.compile(r"\\([a-zA-Z]+)\{(.*)\}$")
_TENDS = re.compile(r"(\\?[a-zA-Z]+)\s*\\to(?![a-zA-Z])")
_INDEX = re.compile(r"_\s*(\{[^{}]*\}|\\?[a-zA-Z]+)")


def find_hidden_index(step: Step, name: str) -> str:
    r"""The command of a symbol that hides an index over which a sum of the step runs, as `\varianceof{X_i}` does.

    Args:
        step: The step.
        name: The name of a symbol.

    Returns:
        The command, '' for any other symbol.
    """
    found = _HIDES.match(name)
    if found is None:
        return ""
    nodes = [node for side in (step.left, step.right) for node in walk(side)]
    bound = {symbol_name(chain.exprs[0]) for node in nodes if isinstance(node, Big) for chain in node.below}
    indices = {one for group in _INDEX.findall(found[2]) for one in re.findall(r"\\[a-zA-Z]+|[a-zA-Z]", group)}
    return found[1] if indices & bound else ""


def find_moving_value(step: Step, names: Sequence[str]) -> str:
    r"""Why a limit may be another one, '' if it is not: `f(n)` and `R_n` that nothing defines move with n.

    Args:
        step: The step.
        names: Its undeclared symbols.
    """
    nodes = [node for side in (step.left, step.right) for node in walk(side)]
    limits = [node for node in nodes if isinstance(node, Big) and node.op == "lim"]
    moves = [symbol_name(chain.exprs[0]) for node in limits for chain in node.below]
    moves += _TENDS.findall(step.option("as") or "")
    for variable in filter(None, moves):
        token = re.compile(rf"(?<![a-zA-Z\\]){re.escape(variable)}(?![a-zA-Z])")
        if moving := next((one for one in names if one != variable and token.search(one)), ""):
            return f"nothing says how {moving} depends on {variable}"
    return ""


def rests_on_indices(step: Step, inferred: Sequence[str]) -> bool:
    r"""Whether the undeclared symbols of a step have one reading: domains that a sentence states, indices, and ones.

    Args:
        step: The step.
        inferred: Its undeclared symbols.
    """
    known = step.context.symbols
    if not inferred or step.context.loose or step.strange or _steps_on(step, inferred):
        return False
    return all(_is_certain(step, known[name]) and not set(inferred) & known[name].mentions for name in inferred)


def _steps_on(step: Step, inferred: Sequence[str]) -> bool:
    """Whether an undeclared index may count iterates, as in `x_{t+1} = x_t - g_t`: t, or one that is shifted."""
    shifted = "|".join(re.escape(name) for name in inferred)
    return "t" in inferred or bool(re.search(rf"_\s*\{{[^{{}}]*(?<![A-Za-z\\])(?:{shifted})\s*[+-]\s*\d", step.text))


def _is_certain(step: Step, symbol: Symbol) -> bool:
    term = symbol.term
    if term is not None and term.op == "transpose":
        term = term.args[0]
    read = step.context.inferred.get(symbol.name, "")
    return read.endswith(_CERTAIN) or symbol.kind == "index" or (term is not None and term.op == "ones")


def _is_index(step: Step, symbol: Symbol) -> bool:
    return symbol.kind == "index" or step.context.inferred.get(symbol.name, "").endswith("(an index)")


_FOR = (
    r"\b(?:for|if|when|whenever|where)\s+(?:all\s+)?\$%s\$\s*,?\s*(?:then|we\s+(?:have|get|obtain|find)|it\s+holds(?:\s+that)?)?"
    r"\s*[:,]?\s*$"
)
NEAR = 3  # lines between such words and their display


def with_stated_indices(step: Step) -> Step:
    r"""A step under what the words in front of its display say of its undeclared indices: "For $i \ne j$,".

    Args:
        step: The step; one without such words comes back as it is.
    """
    known, found = step.context.symbols, []
    indices = {name for name in step.context.inferred if name in known and _is_index(step, known[name])}
    for one in step.far_relations if indices else ():
        leads = 0 <= step.line - one.line <= NEAR and re.search(_FOR % re.escape(one.formula), one.quote, re.IGNORECASE)
        if not leads:
            continue
        try:
            chains = chains_of(one.formula, one.line)
        except (Unreadable, RecursionError):
            continue
        names = set().union(*(all_names(expr) for chain in chains for expr in chain.exprs))
        if names and names <= indices:
            found += chains
    return replace(step, conditions=(*step.conditions, *found)) if found else step


def find_meant_indices(step: Step, decide: Decide, slip: bool = False) -> str:
    r"""The values of its undeclared indices for which a false step holds, as in `i \ne j`; '' if there are none.

    Args:
        step: A step that was found false.
        decide: Decides it under some more hypotheses.
        slip: Whether one change makes it an identity: that it holds for equal indices says nothing then.

    Returns:
        A formula.
    """
    known = step.context.symbols
    if _COMPARES.search(step.text):
        return ""
    stated = {name for chain in step.conditions for expr in chain.exprs for name in all_names(expr)}
    here = collect_symbols(step) - stated
    indices = [known[n] for n in step.context.inferred if n in here and _is_index(step, known[n])]
    for formula in _restrictions(indices, () if slip else ("=",)):
        try:
            more = [
                r for c in chains_of(formula, step.line) for r in relations_of(step.context.copy(), c, [], step.line)
            ]
            verdict = decide(step, more).verdict
        except (Unreadable, ShapeMismatch, Unsettled):
            continue
        if verdict in GOOD or verdict is Verdict.UNDECIDED:
            return formula
    return ""


def _restrictions(indices: Sequence[Symbol], equal: tuple[str, ...]) -> Iterator[str]:
    """What authors leave unsaid of indices: that they differ, or are those of one side; or where one begins."""
    for one, other in combinations(indices, 2):
        if one.highest == other.highest:
            yield from (rf"{one.name} {sign} {other.name}" for sign in (r"\ne", *equal, "<", ">"))
    for one in indices:
        yield rf"{one.name} \ge 2"
        yield from (f"{one.name} {sign} 1" for sign in equal)
        yield rf"{one.name} < {one.highest}"
        yield from (f"{one.name} {sign} {one.highest}" for sign in equal)

r"""Letters that may be functions of what stands in brackets behind them, and bars that may be determinants.

$\sigma^2(X + Y)$ is read as a product, since $\sigma^2(1 - \rho)$ is one, but it may be the variance of $X + Y$, and
$f^{-1}(2 x)$ a value of the inverse. A letter is a factor where it stands without brackets behind it as well. One that
never does, and has several things in its brackets, may be a function. So

* a false step with such a letter, or with a value of $O$, is not refuted by what it says of products;
* a true one is AMBIGUOUS if it is false of functions: then each value is a number of its own.

In the same way $|2 A|$ is read as an absolute value and may be a determinant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction

from attention_core.derivation.decision.factor_orders import find_numbers
from attention_core.derivation.elaborate.functions import substitute
from attention_core.derivation.graph.nodes import Unsettled
from attention_core.derivation.inference.constraints import is_capital
from attention_core.derivation.inference.fresh_sizes import FRESH
from attention_core.derivation.inference.usage import FUNCTIONS, walk, whole_names
from attention_core.derivation.latex.printer import symbol_name, to_latex
from attention_core.derivation.latex.syntax import (
    Call,
    Chain,
    Expr,
    Fence,
    Frac,
    Group,
    Minus,
    Name,
    Num,
    Plus,
    Sub,
    Sup,
    Times,
    Unreadable,
    children,
)
from attention_core.derivation.quick_patterns import compile_quick
from attention_core.derivation.reading.repeated_indices import says_sums
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import Finding, Verdict
from attention_core.derivation.terms.context import Symbol
from attention_core.derivation.terms.terms import SCALAR, ShapeMismatch, Size, matrix

Decide = Callable[[Step], Finding]
_ORDERS = ("O(", "o(", r"\mathcal{O}(", r"\mathcal{o}(", r"\tilde{O}(", r"\Theta(", r"\Omega(", r"O\left(", r"\omega(")
_BIG_O = ("O(", "o(", r"\mathcal{O}(", r"\mathcal{o}(", r"\tilde{O}(")
_RESIDUES = compile_quick(
    r"\b(?:legendre|jacobi symbols?|kronecker symbols?|quadratic (?:non-?)?residues?|residue symbols?|reciprocity|"
    r"number theory|primes?)\b",
    re.IGNORECASE,
)
_ITERATED = re.compile(r"\\(?:log|ln|exp|sin|cos|tan|tanh)\s*\^\s*\{\s*\(")
_VARIES = frozenset([r"\delta", "D", r"\mathrm{D}", r"\mathrm{d}", "d"])
_SHOWN = {"[": "[x]", "{": r"\{x\}", r"\{": r"\{x\}"}
_COUNTS = compile_quick(
    r"\b(?:(?:sum|product|difference)[- ]?sets?|cardinalit\w+|(?:number|count\w*) (?:of )?(?:the )?elements|"
    r"(?:sums|products|differences)(?: \w+){0,2} of sets|sets? of (?:numbers|integers)|finite sets?)\b",
    re.IGNORECASE,
)
_FACTORS = frozenset(["p", "P", r"\sigma"])  # letters of functions that are squared as numbers


def may_be_values(step: Step) -> bool:
    """Whether a letter of a false step may be a function, a determinant or an order of magnitude.

    Args:
        step: A step that is false as it was read.
    """
    return bool(_leading_letters(step) or _in_bars(step)) or has_order(step, _ORDERS) or _has_residues(step)


def _has_residues(step: Step) -> bool:
    r"""Whether all fractions of a step stand alone in brackets, as Legendre's $\left(\frac{a}{p}\right)$ does."""
    nodes = [one for side in (step.left, step.right) for one in walk(side)]
    fractions = [one for one in nodes if isinstance(one, Frac)]
    alone = [one.items[0].exprs[0] for one in nodes if isinstance(one, Group) and one.bracket == "(" and one.items]
    return len(fractions) > 1 and all(any(one is other for other in alone) for one in fractions)


def has_order(step: Step, heads: tuple[str, ...] = _BIG_O) -> bool:
    """Whether a step mentions a value such as `O(n)`: not one number, but some number of that order.

    Args:
        step: The step.
        heads: How such values begin.
    """
    return any(one.startswith(heads) for one in _names(step) & set(step.context.inferred))


def find_false_value(step: Step, decide: Decide) -> str:
    """Words for the letters by which a true step is false where they are functions, or determinants; '' for none.

    Args:
        step: A step that is true as it was read.
        decide: Decides a step.
    """
    if has_order(step):
        return r"where $O(\cdot)$ stands for some number of that order, another one at each place"
    letters = {one for one in _leading_letters(step) if _is_function(step, one) or _is_sequence(step, one)}
    if letters and _is_false(_with_values(step, letters), decide):
        return f"where ${', '.join(sorted(letters))}$ is a function of what stands in the brackets"
    if (bracket := _find_part(step)) and _is_false(_with_parts(step, bracket), decide):
        return rf"where ${_SHOWN[bracket]}$ is a value, such as an integer part"
    if letter := _find_variation(step):
        return rf"where $\frac{{{letter} y}}{{{letter} x}}$ is a derivative"
    if _ITERATED.search(step.text):
        return "where a number in brackets counts how often a function is applied"
    if _has_residues(step) and any(_RESIDUES.search(one.words) for one in step.far_words):
        return r"where $\left(\frac{a}{p}\right)$ is the symbol of Legendre"
    if (index := _find_summed_letter(step)) and any(says_sums(one.words) for one in step.far_words):
        return f"where ${index}$ is summed over"
    if r"\dagger" in _names(step) & set(step.context.inferred):  # above brackets: a symbol with one is another symbol
        return r"where $\dagger$ is the adjoint"
    bars = _in_bars(step)
    if bars and any(_COUNTS.search(one.words) for one in step.far_words) and _has_sum_in_bars(step):
        return f"where the bars count the elements of sets ${', '.join(sorted(bars))}$"
    if bars and _is_false(_with_determinants(step, bars), decide):
        return f"where the bars are determinants of matrices ${', '.join(sorted(bars))}$"
    return ""


def _find_variation(step: Step) -> str:
    r"""The undeclared letter of a quotient such as $\frac{\delta F}{\delta x}$ and $\frac{D u}{D t}$; '' for none."""
    for one in (node for side in (step.left, step.right) for node in walk(side)):
        if isinstance(one, Frac) and isinstance(one.top, Times) and isinstance(one.bottom, Times):
            first, second = (symbol_name(part.factors[0]) or "" for part in (one.top, one.bottom))
            if first == second and first in _VARIES and first in step.context.inferred:
                return first
    return ""


def _find_part(step: Step) -> str:
    r"""The square bracket, or the brace, that stands around a single letter, as in $[x]$ and $\{x\}$; '' for none."""
    calls = {id(group) for side in (step.left, step.right) for _, _, group in _calls(side)}
    groups = [one for side in (step.left, step.right) for one in walk(side) if isinstance(one, Group)]
    short = [one for one in groups if one.bracket in _SHOWN and id(one) not in calls and len(one.items) == 1]
    alone = [one for one in short if one.items[0].alone and symbol_name(one.items[0].exprs[0]) in step.context.inferred]
    return alone[0].bracket if alone else ""


def _with_parts(step: Step, bracket: str) -> Step:
    """The step with a number of its own for each thing in brackets of a kind."""
    values: dict[str, str] = {}

    def change(node: object) -> object | None:
        if isinstance(node, Group) and node.bracket == bracket:
            return Name(values.setdefault(to_latex(node), f"\\text{{value {len(values)}}}"))
        return None

    return _with_numbers(step, change, values)


def _find_summed_letter(step: Step) -> str:
    """A letter that stands below two factors of a product of undeclared symbols, '' for none."""
    for factors in (one.factors for side in (step.left, step.right) for one in walk(side) if isinstance(one, Times)):
        below = [
            to_latex(one.items[0])
            for factor in factors
            if isinstance(one := factor.base if isinstance(factor, Sup) else factor, Sub)
            and (symbol_name(one) in step.context.inferred and len(one.items) == 1)
        ]
        if twice := next((one for one in below if below.count(one) > 1 and one.isalpha()), ""):
            return twice
    return ""


def _names(step: Step) -> set[str]:
    return whole_names(step.left) | whole_names(step.right)


def _is_false(step: Step, decide: Decide) -> bool:
    try:
        return decide(step).verdict is Verdict.REFUTED
    except (Unreadable, ShapeMismatch, Unsettled):
        return False


def _head(factor: Expr) -> tuple[str, bool]:
    """The letter of a factor that a bracket may stand behind, and whether it has an exponent of its own."""
    if isinstance(factor, Sup) and isinstance(factor.exponent, Num | Minus) and symbol_name(factor) is None:
        return symbol_name(factor.base) or "", True
    return symbol_name(factor) or "", False


def _calls(node: object) -> Iterator[tuple[str, bool, Group]]:
    """The letters in front of brackets with one thing in them, whether each has an exponent, and the brackets."""
    for one in walk(node):
        if isinstance(one, Times):
            for factor, op, behind in zip(one.factors, one.ops, one.factors[1:], strict=False):
                inside = behind.base if isinstance(behind, Sup) else behind
                name, _ = _head(factor)
                if name and not op and isinstance(inside, Group) and inside.bracket in ("(", "[", "{"):
                    yield name, isinstance(factor, Sup), inside


def _leading_letters(step: Step) -> set[str]:
    """The undeclared letters that brackets with different contents stand behind wherever they occur."""
    found: dict[str, list[str]] = {}
    for side in (step.left, step.right):
        for name, _, group in _calls(side):
            found.setdefault(name, []).append(to_latex(group))
    open_ = set(step.context.inferred) - find_numbers(step)
    return {
        name
        for name, groups in found.items()
        if name in open_ and len(set(groups)) > 1 and len(groups) == _count(step, name)
    }


def _count(step: Step, name: str) -> int:
    """How often a symbol stands in a step."""
    count, stack = 0, list[object]([step.left, step.right])
    while stack:
        one = stack.pop()
        if isinstance(one, Name | Sub | Sup) and (own := symbol_name(one)) is not None:
            count += own == name
        else:
            stack.extend(children(one))
    return count


def _is_function(step: Step, name: str) -> bool:
    """Whether a letter is one of functions and has an exponent, or all that stands behind it are capitals."""
    calls = [one for side in (step.left, step.right) for one in _calls(side) if one[0] == name]
    letters = set().union(*(whole_names(group) for _, _, group in calls))
    powers = all(power for _, power, _ in calls)
    return powers and ((name in FUNCTIONS - _FACTORS) or (bool(letters) and all(map(is_capital, letters))))


def _is_sequence(step: Step, name: str) -> bool:
    """Whether all brackets behind a letter are square, and one holds a single letter or number, which needs none."""
    groups = [group for side in (step.left, step.right) for one, _, group in _calls(side) if one == name]
    short = any(one.startswith(f"{name}[") for one in step.context.inferred)
    short = short or any(one.items[0].alone and isinstance(one.items[0].exprs[0], Name | Num) for one in groups)
    return short and all(one.bracket == "[" for one in groups)


def _with_values(step: Step, letters: set[str]) -> Step:
    """The step with a number of its own for each value of some functions."""
    values: dict[str, str] = {}

    def change(node: object) -> object | None:
        if not isinstance(node, Times):
            return None
        factors, ops = list(node.factors), list(node.ops)
        for place in reversed(range(len(ops))):
            behind = factors[place + 1]
            if _head(factors[place])[0] in letters and not ops[place] and isinstance(behind, Group):
                text = f"{to_latex(factors[place])}{to_latex(behind)}"
                name = values.setdefault(text, f"\\text{{value {len(values)}}}")
                factors[place : place + 2], ops[place : place + 1] = [Name(name)], []
        return None if len(factors) == len(node.factors) else (Times(tuple(factors), tuple(ops)) if ops else factors[0])

    return _with_numbers(step, change, values)


def _with_numbers(step: Step, change: Callable[[object], object | None], values: dict[str, str]) -> Step:
    """The step with a change of its parts, by which numbers come into it."""
    left, right = substitute(step.left, change), substitute(step.right, change)
    context = step.context.copy()
    for name in values.values():
        context.symbols[name] = Symbol(name, "array", step.line, context.level, SCALAR)
    return replace(step, left=left, right=right, context=context)  # type: ignore[arg-type]


def _in_bars(step: Step) -> set[str]:
    """The undeclared capitals of an equation all of whose letters stand between bars."""
    fences = [one for side in (step.left, step.right) for one in walk(side) if isinstance(one, Fence)]
    inside = set().union(*(whole_names(one.body) for one in fences)) if fences else set[str]()
    outside = set().union(*(whole_names(substitute(s, _empty)) for s in (step.left, step.right)))
    fits = step.op == "=" and not outside and all(map(is_capital, inside)) and all(one.kind == "abs" for one in fences)
    return inside if fits and inside <= set(step.context.inferred) else set()


def _has_sum_in_bars(step: Step) -> bool:
    """Whether a sum or a product stands between bars."""
    fences = (one for side in (step.left, step.right) for one in walk(side) if isinstance(one, Fence))
    return any(isinstance(one.body, Plus | Times) for one in fences)


def _empty(node: object) -> object | None:
    return Num(Fraction(1)) if isinstance(node, Fence) else None


def _with_determinants(step: Step, letters: set[str]) -> Step:
    """The step with determinants of square matrices in the place of absolute values."""
    context = step.context.copy()
    size = next((name for name in FRESH if name not in context.symbols), "")
    if not size:
        return step
    context.symbols[size] = Symbol(size, "size", step.line, context.level)
    edge = Size.symbol(size)
    for name in letters:
        context.symbols[name] = replace(
            context.symbols[name], kind="array", type=matrix(edge, edge), mentions=frozenset([size])
        )

    def change(node: object) -> object | None:
        return Call("det", (Chain((node.body,)),)) if isinstance(node, Fence) else None

    left, right = substitute(step.left, change), substitute(step.right, change)
    return replace(step, left=left, right=right, context=context)  # type: ignore[arg-type]


_COMPOSES = re.compile(r"([a-zA-Z]|\\[a-z]+)\s*(?:_\s*(?:\w|\{[^{}]*\}))?\s*\\circ(?![a-zA-Z])")
_OF_FUNCTIONS = frozenset((*"fghTSFGH", r"\phi", r"\psi", r"\varphi", r"\sigma", r"\pi"))


def find_compositions(step: Step, names: Iterable[str]) -> str:
    """The undeclared letters of functions that a circle stands behind, '' for none.

    Args:
        step: The step.
        names: Its undeclared symbols.
    """
    letters = {found[1] for found in _COMPOSES.finditer(step.text)} & _OF_FUNCTIONS
    return ", ".join(sorted(name for name in names if name.partition("_")[0] in letters))


__all__ = ["find_compositions", "find_false_value", "has_order", "may_be_values"]

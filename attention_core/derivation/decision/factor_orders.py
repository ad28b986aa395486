r"""Orders of factors: what is true of numbers may be false of letters that do not commute.

An undeclared letter is read as a number, and numbers commute. Operators, matrices, quaternions, fermions and the cross
product do not, and an author who means such letters keeps their orders apart: in $D u^2 = 2 u D u$, in
$a b - b a = 2 a b$ and in $x p = p x$ the same two letters stand in both orders. For numbers one order would do. So

* a false step that has two undeclared letters in both orders is not refuted by what it says of numbers;
* a step that is true of numbers and says no more than that two factors may be exchanged is AMBIGUOUS;
* so is one in which a letter that looks like an operator ($\mathcal{L}$, $\nabla$, a letter that always stands before
  what it acts on) is moved past what it acts on.

A letter is a number where it is declared, where a size or an index is meant, where something is divided by it, or where
it stands in a root, a logarithm or a sine, anywhere in the document.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

from attention_core.derivation.decision.free_products import add_sums, find_other_product, scale_sum
from attention_core.derivation.inference.constraints import is_capital
from attention_core.derivation.inference.opaque import is_opaque
from attention_core.derivation.inference.usage import walk, whole_names
from attention_core.derivation.latex.printer import symbol_name, to_latex
from attention_core.derivation.latex.syntax import (
    Call,
    Expr,
    Fence,
    Frac,
    Group,
    Minus,
    Name,
    Num,
    Plus,
    Root,
    Sub,
    Sup,
    Times,
    children,
)
from attention_core.derivation.quick_patterns import compile_quick
from attention_core.derivation.reading.step import Step
from attention_core.derivation.terms.terms import SCALAR

MAX_WORDS = 200  # products of one side that are looked at
MAX_POWER = 4
ODOT = "o"  # in the operations of a product; so is a circle
NEAR = 3  # lines around a step whose words may say that numbers are meant
_OF_NUMBERS = frozenset(["log", "ln", "sin", "cos", "tan", "tanh", "sqrt", "log1p", "sigmoid"])
_SAYS_NUMBERS = compile_quick(r"\b(?:numbers?|scalars?|reals?|integers?|commut\w*|arithmetic)\b", re.IGNORECASE)
_DENIES = compile_quick(r"\b(?:not|non-?commut\w*|anti-?commut\w*|never|no)\b", re.IGNORECASE)
_NAMED = re.compile(r"\\(?:nabla|partial|[sS]quare|Box)(?![a-zA-Z])|\\math(?:cal|scr|frak)\b")
_CROSS = re.compile(r"[a-zA-Z)}]\s*\\times\s*(?:\\(?:left|vec|mathbf|bm|boldsymbol)\b|\\[a-z]+|[a-zA-Z(])")
Pair = tuple[str, str]
Word = tuple[tuple[str, bool], ...]
"""The letters of a product from left to right, and whether each stands in a sum in brackets."""


def keeps_orders(step: Step, forms: bool = True) -> bool:
    r"""Whether a step has two undeclared letters in both orders, a cross between letters, or an adjoint.

    Args:
        step: A step that is false of numbers.
        forms: Whether the two orders of an inner product count, which may be a form that is not symmetric.
    """
    letters = _open_letters(step)
    if _has_cross(step, letters) or any(r"\dagger" in one for one in letters):
        return True
    pairs: set[Pair] = set()
    forms = forms and not _is_sum_of_entries(step) and not _has_norm(step)
    for side in (step.left, step.right):
        for node in walk(side):
            if forms and isinstance(node, Call) and node.function == "inner" and len(node.args) == 2:
                first, second = (to_latex(one) for one in node.args)
                pairs |= {(first, second)} if first != second else set()
                letters = letters | {first, second}
        for word in _words(side):
            pairs |= {
                (first, second)
                for place, (first, summed) in enumerate(word)
                for second, also in word[place + 1 :]
                if first != second and not (summed and also)
            }
    return any(first in letters and second in letters and (second, first) in pairs for first, second in pairs)


def _is_sum_of_entries(step: Step) -> bool:
    r"""Whether an inner product has a side made of entries, $\langle x \odot h, 1_n \rangle$: another form has none."""
    nodes = [node for side in (step.left, step.right) for node in walk(side)]
    sides = [one for node in nodes if isinstance(node, Call) and node.function == "inner" for one in node.args]
    return any(
        ODOT in node.ops and r"\odot" in step.text
        if isinstance(node, Times)
        else (symbol_name(node) or "").startswith(r"\mathbf{1}_")
        for side in sides
        for node in walk(side)
        if isinstance(node, Times | Name | Sub)
    )


def _has_norm(step: Step) -> bool:
    """Whether a step has a norm: the inner product beside it is the one of this norm, which is symmetric."""
    return any(
        isinstance(node, Fence) and node.kind == "norm" for side in (step.left, step.right) for node in walk(side)
    )


def find_moved_factor(step: Step) -> str:
    r"""Words for the letters that a true step moves past one another, and that may not commute; '' for none.

    Args:
        step: A step that is true of numbers.
    """
    letters = _open_letters(step)
    if step.op != "=" or _says_numbers(step):
        return ""
    if words := find_other_product(step, _open_numbers(step)):
        return words
    if not letters:
        return ""
    if not step.chained and (pair := _find_exchange(step, _movable(step, letters))):
        return f"where ${pair[0]}$ and ${pair[1]}$ do not commute"
    operators = _operators(step, letters)
    if operators:
        left, right = (_apply(side, operators, letters) for side in (step.left, step.right))
        if left is not None and right is not None and left != right:
            return f"where ${', '.join(sorted(operators))}$ acts on what stands behind it"
    return ""


def _open_numbers(step: Step) -> frozenset[str]:
    """The undeclared letters of a step that are read as numbers, and that nothing divides by."""
    known = step.context.symbols
    own = {name for side in (step.left, step.right) for name in whole_names(side)} & set(step.context.inferred)
    numbers = {one for one in own if one in known and known[one].type == SCALAR and known[one].kind == "array"}
    return frozenset(numbers - find_numbers(step, sums=False))


def _open_letters(step: Step) -> frozenset[str]:
    """The undeclared letters of a step for which nothing but their look speaks as numbers."""
    known = step.context.symbols
    named = set().union(*(whole_names(side) for side in (step.left, step.right)))
    own = [known[name] for name in named & set(step.context.inferred) if name in known]
    arrays = [one for one in own if one.kind in ("array", "family") and one.term is None and one.law is None]
    numbers = {one.name for one in arrays if one.type is not None and one.type.scalar}
    others = {one.name for one in arrays} - numbers
    if len(others) == 1 and all(
        is_capital(one) and step.context.inferred[one].endswith("(a capital letter)") for one in others
    ):
        numbers |= others  # a matrix among numbers alone may act on them
    return frozenset(numbers - find_numbers(step))


def _movable(step: Step, letters: frozenset[str]) -> frozenset[str]:
    """The letters that are read as numbers, and the matrix among them beside a value such as `T(x)`.

    Beside a matrix any other number is a coefficient: `\\lambda A = A \\lambda`.
    """
    if any(is_opaque(one) and is_capital(one) for one in letters):
        return letters
    kinds = {one: step.context.symbols[one].type for one in letters}
    return frozenset(one for one, kind in kinds.items() if kind is not None and kind.scalar)


def find_numbers(step: Step, sums: bool = True) -> set[str]:
    """The letters that a step or its peers divide by, take a root or a logarithm of, or add to a small letter.

    Args:
        step: The step.
        sums: Whether a small letter in a sum is a number.
    """
    found: set[str] = set()
    for peer in (step, *(one for one in step.peers if isinstance(one, Step))):
        for node in (one for side in (peer.left, peer.right) for one in walk(side)):
            if isinstance(node, Frac):
                found |= whole_names(node.bottom)
            elif sums and isinstance(node, Plus) and peer is not step:
                terms = {name for one in node.terms if (name := symbol_name(one)) is not None}
                found |= set() if all(map(is_capital, terms)) else terms
            elif isinstance(node, Root) or (isinstance(node, Call) and node.function in _OF_NUMBERS):
                found |= whole_names(children(node))
            elif isinstance(node, Times):
                for op, factor in zip(node.ops, node.factors[1:], strict=True):
                    found |= whole_names(factor) if op == "/" else set()
    return found


def _has_cross(step: Step, letters: frozenset[str]) -> bool:
    return bool(letters) and r"\times" in step.text and bool(_CROSS.search(step.text))


def _says_numbers(step: Step) -> bool:
    """Whether words beside a step say that its letters are numbers, or that they commute."""
    near = (one.words for one in step.far_words if abs(one.line - step.line) <= NEAR)
    return any(_SAYS_NUMBERS.search(words) and not _DENIES.search(words) for words in near)


def _is_inner(node: object) -> bool:
    """Whether a factor is an inner product: a number; its vectors are not factors beside it."""
    return isinstance(node, Call) and node.function == "inner"


def _words(node: object) -> list[Word]:
    """The products of a tree, of sums one for each term; a divisor, and what is not a product, has no letters."""
    match node:
        case Name() | Sub() | Sup() if (name := symbol_name(node)) is not None:
            return [((name, False),)]
        case Minus(body):
            return _words(body)
        case Plus(terms):
            return [word for term in terms for word in _words(term)][:MAX_WORDS]
        case Group(_, (chain,)) if chain.alone:
            inside = _words(chain.exprs[0])
            return [tuple((name, True) for name, _ in word) for word in inside] if len(inside) > 1 else inside
        case Sup(base, Name()) if symbol_name(base) is not None:
            return [((to_latex(node), False),)]
        case Sup(Name("e"), exponent) if any(map(is_capital, whole_names(exponent))):
            return [((to_latex(node), False),)]
        case Sup(base, Num(value)) if value > 1:
            inside = _words(base)
            return [word + word for word in inside] if len(inside) == 1 else [()]
        case Frac(top, _):
            return _words(top)
        case Times(factors, ops):
            kept = [one for one, op in zip(factors, ("", *ops), strict=True) if op != "/"]
            some = product(*([()] if _is_inner(one) else _words(one) for one in kept))
            apart = [word for one in kept if _is_inner(one) for word in _words(one) if word]
            return [*(sum(words, ()) for words, _ in zip(some, range(MAX_WORDS), strict=False)), *apart][:MAX_WORDS]
        case Num():
            return [()]
    return [(), *(word for one in children(node) for word in _words(one) if word)][:MAX_WORDS]


def _find_exchange(step: Step, letters: frozenset[str]) -> Pair | None:
    """Two letters that a step exchanges and does nothing else: `x p = p x`, `x p - p x = 0`; None for other steps."""
    terms = [*_sign_terms(step.left, 1), *_sign_terms(step.right, -1)]
    terms = [(sign, word) for sign, word in terms if sign]
    if len(terms) != 2 or sum(sign for sign, _ in terms) != 0:
        return None
    nodes = [one for side in (step.left, step.right) for one in walk(side)]
    letters = letters | {to_latex(one) for one in nodes if _is_power_of(one, letters) or _is_exponential(one, letters)}
    first, second = ([name for name, _ in word] for _, word in terms)
    if first == second or Counter(first) != Counter(second) or any(summed for _, word in terms for _, summed in word):
        return None
    moved = [name for name, other in zip(first, second, strict=True) if name != other]
    moved = [name for name in dict.fromkeys(moved) if name in letters]
    return (moved[0], moved[1]) if len(moved) > 1 else None


def _is_power_of(node: object, letters: frozenset[str]) -> bool:
    r"""Whether an open letter has a letter above it, which may be an index: `\gamma^\mu`."""
    return isinstance(node, Sup) and isinstance(node.exponent, Name) and symbol_name(node.base) in letters


def _is_exponential(node: object, letters: frozenset[str]) -> bool:
    """Whether a node is e with an open capital above it, as in `e^{L}`."""
    return (
        isinstance(node, Sup) and node.base == Name("e") and any(map(is_capital, whole_names(node.exponent) & letters))
    )


def _sign_terms(side: Expr, sign: int) -> Iterator[tuple[int, Word]]:
    """The terms of a side that are products of letters, with their signs; another one has the sign 2."""
    terms = side.terms if isinstance(side, Plus) else (side,)
    for term in terms:
        body, own = (term.body, -sign) if isinstance(term, Minus) else (term, sign)
        if isinstance(body, Num) and body.value == 0:
            continue
        factors = body.factors if isinstance(body, Times) and "/" not in body.ops else (body,)
        plain = all(_is_letter(one) for one in factors)
        yield (own, _words(body)[0]) if plain else (2, ())


def _is_letter(factor: Expr) -> bool:
    if isinstance(factor, Sup) and factor.base == Name("e"):
        return any(map(is_capital, whole_names(factor.exponent)))
    return symbol_name(factor.base if isinstance(factor, Sup) else factor) is not None


def _operators(step: Step, letters: frozenset[str]) -> frozenset[str]:
    """The letters of a step that look like operators."""
    named = {one for one in letters if _NAMED.match(one) and not is_opaque(one)}
    upper = {one for one in letters - named if is_capital(one) or one in ("d", r"\delta")}
    return frozenset(named | {one for one in upper if _leads(step, one, letters)})


def _leads(step: Step, letter: str, letters: frozenset[str]) -> bool:
    """Whether a letter stands before another open letter wherever it occurs, and behind one somewhere."""
    behind = False
    for word in (one for side in (step.left, step.right) for one in _words(side)):
        names = [name for name, _ in word]
        if letter not in names:
            continue
        last = len(names) - 1 - names[::-1].index(letter)
        if not letters & set(names[last + 1 :]):
            return False
        behind = behind or names.index(letter) > 0
    return behind


@dataclass(frozen=True)
class _Product:
    """Numbers, factors that commute, and an operator at the end, with what it acts on."""

    numbers: tuple[str, ...] = ()
    factors: tuple[str, ...] = ()
    operator: str = ""
    argument: _Product | None = None

    def write(self) -> str:
        """The product as one factor: nothing that follows is acted on."""
        inside = "" if self.argument is None else self.argument.write()
        return " ".join((*self.numbers, *self.factors, f"{self.operator}[{inside}]" if self.operator else ""))

    def close(self) -> _Product:
        """The product with an operator that has something to act on as a factor."""
        if self.argument is None or self.argument == _Product():
            return self
        return _Product(self.numbers, tuple(sorted((*self.factors, f"{self.operator}[{self.argument.write()}]"))))

    def times(self, other: _Product) -> _Product:
        """The product with another one behind it."""
        numbers = tuple(sorted((*self.numbers, *other.numbers)))
        if self.argument is not None:
            bare = replace(other, numbers=())
            return _Product(numbers, self.factors, self.operator, self.argument.times(bare))
        return _Product(numbers, tuple(sorted((*self.factors, *other.factors))), other.operator, other.argument)


_Sum = dict[_Product, Fraction]


def _apply(node: Expr, operators: frozenset[str], letters: frozenset[str]) -> _Sum | None:
    """A side as a sum of products in which operators act on what stands behind them; None for another formula."""
    match node:
        case Num(value):
            return {_Product(): value} if value else {}
        case Name() | Sub() | Sup() if (name := symbol_name(node)) is not None:
            own = _Product(factors=(name,)) if name in letters else _Product((name,))
            return {_Product(operator=name, argument=_Product()) if name in operators else own: Fraction(1)}
        case Minus(body):
            return scale_sum(_apply(body, operators, letters), Fraction(-1))
        case Plus(terms):
            return add_sums([_apply(term, operators, letters) for term in terms])
        case Group(_, (chain,)) if chain.alone:
            inside = _apply(chain.exprs[0], operators, letters)
            return None if inside is None else add_sums([{one.close(): c} for one, c in inside.items()])
        case Sup(base, Num(value)) if value.denominator == 1 and 1 < value <= MAX_POWER:
            return _multiply([_apply(base, operators, letters)] * int(value))
        case Times(factors, ops) if "/" not in ops:
            return _multiply([_apply(one, operators, letters) for one in factors])
        case Frac(top, Num(value)) if value:
            return scale_sum(_apply(top, operators, letters), 1 / value)
    if whole_names(node) & operators:
        return None
    numbers = not whole_names(node) & letters
    return {_Product((to_latex(node),)) if numbers else _Product(factors=(to_latex(node),)): Fraction(1)}


def _multiply(parts: list[_Sum | None]) -> _Sum | None:
    total: _Sum = {_Product(): Fraction(1)}
    for part in parts:
        if part is None or len(total) * len(part) > MAX_WORDS:
            return None
        new = [{one.times(other): c * d} for one, c in total.items() for other, d in part.items()]
        total = add_sums(new) or {}
    return total


__all__ = ["find_moved_factor", "keeps_orders"]

r"""Formulas as sums of words: what is true of numbers may be false of letters in their order, or of other products.

$(a + b)^2 = a^2 + 2 a b + b^2$ is true of numbers and false of Pauli matrices, $f * (g h) = (f * g) h$ is false of
convolutions, $(F \cdot s)^2 = F^2 s^2$ of vectors, and $|\psi|^2 = \psi^2$ of complex numbers. Where a document
speaks of such things, a step is accepted only if it holds of them as well: both sides are multiplied out without using
what is wrong for them, and have to be the same sum.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from functools import partial
from typing import TypeVar

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
    Sup,
    Times,
)
from attention_core.derivation.quick_patterns import QuickPattern, compile_quick
from attention_core.derivation.reading.step import Step
from attention_core.derivation.terms.terms import SCALAR

MAX_TERMS = 200
MAX_POWER = 4
_INVERSE = "^{-1}"
Word = tuple[str, ...]
Sum = dict[Word, Fraction]
Key = TypeVar("Key", bound=Hashable)  # what a sum counts: a word, or a product
_KEEP_ORDER = compile_quick(
    r"\b(?:pauli|gamma matri\w+|quaternions?(?![- ]like)|octonions?|(?:ladder|creation|annihilation|raising|lowering|"
    r"shift|momentum|position|differential|quantum|field|number|self-?adjoint|hermitian|bounded) operators?|"
    r"non-?commut\w*|anti-?commut\w*|(?:do|does|need|did) not commute|commutators?|observables?|"
    r"free (?:groups?|monoids?|algebras?)|"
    r"associative algebras?|(?:not|non)[- ]?(?:be )?(?:abelian|commutative)|hilbert spaces?|(?:in|of|over|be) a group|"
    r"concatenat\w+ of (?:words|strings))\b",
    re.IGNORECASE,
)
_QUANTUM = compile_quick(r"\b(?:quantum|qubits?|hilbert|oscillators?|hamiltonians?|schr\S{1,3}dinger)\b", re.IGNORECASE)
_CONVOLVES = compile_quick(
    r"\b(?:convol\w+|cross-?correlat\w+|star product|binary operations?|group law|group operation|impulse response|"
    r"time-?invariant|(?:linear|digital) filters?)\b|"
    r"\b(?:star|asterisk)\b[^.;]{0,40}\b(?:denotes|means|stands for|is)\b",
    re.IGNORECASE,
)
_VECTORS = compile_quick(
    r"\b(?:vectors?|(?:dot|scalar|inner|cross|vector)[- ]products?|forces?|torques?)\b", re.IGNORECASE
)
_CROSSES = compile_quick(
    r"\b(?:(?:cross|vector|outer|wedge|exterior)[- ]products?|torques?|angular moment\w+|curls?|lorentz|magnetic|"
    r"right[- ]hand(?:ed)?|forces?|velocit(?:y|ies)|parallelograms?|normal vectors?)\b",
    re.IGNORECASE,
)
_COMPLEX = compile_quick(
    r"\b(?:complex(?: numbers?| plane|-valued| amplitudes?| conjugat\w+| scalars?)|(?:is|are) complex|imaginary|"
    r"phasors?|amplitudes?|impedances?|wave ?functions?|quantum|born(?:['\u2019]s)? rule|qubits?)\b",
    re.IGNORECASE,
)
CROSS = "cross"  # read as `*`, and kept in its order
_LETTER = r"(?:\\[a-zA-Z]+|[a-zA-Z(}])"
_PRODUCTS = (
    ("convolution", "*", "*", _CONVOLVES, re.compile(r"(?<![\^_{\\(])\s*(?:\*|\\ast(?![a-zA-Z]))")),
    ("product of vectors", r"\cdot", ".", _VECTORS, re.compile(rf"[a-zA-Z)}}]\s*\\cdot(?![a-zA-Z])\s*{_LETTER}")),
    ("product of vectors", r"\times", CROSS, _CROSSES, re.compile(rf"[a-zA-Z)}}]\s*\\times(?![a-zA-Z])\s*{_LETTER}")),
)
"""Products of their own: what they are, how they are shown and read, words that speak of one, and how it is written."""
_UNITS = frozenset(["i", "j", r"\imath", r"\jmath"])
_NOT_ANALYTIC = frozenset(["log", "ln", "sqrt", "abs", "max", "min", "sign"])


def find_other_product(step: Step, letters: Iterable[str]) -> str:
    r"""Words for a product that a true step does not hold of, and of which its document speaks; '' for none.

    Args:
        step: A step that is true of numbers.
        letters: Its undeclared letters that nothing but their look makes numbers.

    Example:
        >>> from attention_core.derivation.check import document_steps
        >>> text = "The star is a convolution.\n\n$$ f * (g h) = (f * g) h $$\n"
        >>> find_other_product(document_steps(text, infer=True)[1][0], ("f", "g", "h"))
        'where $*$ is a convolution'
    """
    letters = frozenset(letters)
    if step.assumed or step.conditions or _uses_more(step):
        return ""
    if operators := _find_order(step, letters):
        return operators
    for name, shown, op, words, sign in _PRODUCTS if letters else ():
        if not sign.search(step.text) or (op != "*" and _multiplies_numbers(step, op)):
            continue
        if _speaks(step, words) and _differs(step, _sort, op):
            return f"where ${shown}$ is a {name}"
    units = {one for one in _UNITS & set(step.context.inferred) if step.context.symbols[one].type == SCALAR}
    if units and _has_unit(step):
        return f"where ${min(units)}$ is the imaginary unit"
    bars = any(isinstance(one, Fence) for side in (step.left, step.right) for one in walk(side))
    if letters and bars and _speaks(step, _COMPLEX) and _differs(step, _sort):
        return f"where ${', '.join(sorted(letters))}$ may be complex"
    return ""


def _uses_more(step: Step) -> bool:
    """Whether a definition or a hypothesis says something of the symbols of a step: it may hold by that."""
    known = step.context.symbols
    named = {name for side in (step.left, step.right) for name in whole_names(side)}
    defined = any(known[name].term is not None for name in named if name in known)
    return defined or any(one.mentions & named for one in step.context.hypotheses)


def _find_order(step: Step, letters: frozenset[str]) -> str:
    """Words for the letters of a step that its document may mean as operators, '' if it holds of these as well."""
    known = step.context.symbols
    arrays = {one for one in step.context.inferred if one in known and known[one].kind == "array"}
    named = {name for side in (step.left, step.right) for name in whole_names(side)}
    hats = frozenset(one for one in named & arrays if one.startswith(r"\hat{"))
    for some, pattern in ((frozenset(named & arrays) if letters else letters, _KEEP_ORDER), (hats, _QUANTUM)):
        if len(some) < 2 or not _speaks(step, pattern) or not _multiplies_two(step, some):
            continue
        if _differs(step, partial(_keep_order, letters=some)):
            return f"where ${', '.join(sorted(some))}$ do not commute"
    return ""


def _multiplies_numbers(step: Step, op: str) -> bool:
    r"""Whether a product of vectors would have three factors, or `\times` a numeral: `2 \times n \times d` counts."""
    sign = "*" if op == CROSS else op
    products = [one for side in (step.left, step.right) for one in walk(side) if isinstance(one, Times)]
    marked = [one for one in products if sign in one.ops]
    beside = [pair for one in marked for pair in zip(one.factors, one.ops, one.factors[1:], strict=False)]
    numerals = any(op_ == sign and (isinstance(a, Num) or isinstance(b, Num)) for a, op_, b in beside)
    return any(one.ops.count(sign) > 1 for one in marked) or (op == CROSS and numerals)


def _multiplies_two(step: Step, letters: frozenset[str]) -> bool:
    """Whether two of some letters are factors of one product."""
    words = (word for side in (step.left, step.right) for word in expand(side) or {})
    return any(sum(any(_has_letter(one, each) for each in letters) for one in word) > 1 for word in words)


def _has_unit(step: Step) -> bool:
    r"""Whether a letter may be the imaginary unit, as in $e^{i x}$ and $a + i b$, in a step that is not analytic.

    What is true of every real i, and has neither bars nor roots nor powers of what may be negative, holds of the unit.
    """
    nodes = [one for side in (step.left, step.right) for one in walk(side)]
    powers = [one for one in nodes if isinstance(one, Sup)]
    raised = [one.exponent for one in powers if one.base == Name("e")]
    terms = [term for one in nodes if isinstance(one, Plus) for term in one.terms if isinstance(term, Times)]
    if not any(_UNITS & whole_names(one) for one in (*raised, *terms)):
        return False
    open_ = [one for one in powers if one.base != Name("e") and not isinstance(one.exponent, Num)]
    return bool(open_) or any(
        isinstance(one, Fence | Root) or (isinstance(one, Call) and one.function in _NOT_ANALYTIC) for one in nodes
    )


def expand(node: Expr, own: str = "") -> Sum | None:
    """A formula as a sum of words, the factors of each in their order; what is neither sum nor product is one letter.

    The square of an absolute value is the product of what stands in it with its conjugate.

    Args:
        node: The formula.
        own: The sign of a product of its own, which is bilinear, and commutes and is associative with itself alone.

    Returns:
        The words with their coefficients, None where there are too many.

    Example:
        >>> from attention_core.derivation.latex.parse import parse_expression
        >>> sorted(expand(parse_expression("(a + b)^2")))
        [('a', 'a'), ('a', 'b'), ('b', 'a'), ('b', 'b')]
    """
    match node:
        case Num(value):
            return {(): value} if value else {}
        case Minus(body):
            return scale_sum(expand(body, own), Fraction(-1))
        case Plus(terms):
            return add_sums([expand(term, own) for term in terms])
        case Group(_, (chain,)) if chain.alone:
            return expand(chain.exprs[0], own)
        case Sup(Fence("abs", body), Num(value)) if value == 2 and not own:
            inside = expand(body)
            return None if inside is None else _multiply([inside, _conjugate(inside)])
        case Sup(base, Minus(Num(value))) if value == 1 and symbol_name(base) is not None:
            return {(f"{symbol_name(base)}{_INVERSE}",): Fraction(1)}
        case Sup(base, Num(value)) if value.denominator == 1 and 1 < value <= MAX_POWER:
            return _multiply([expand(base, own)] * int(value))
        case Frac(top, Num(value)) if value:
            return scale_sum(expand(top, own), 1 / value)
        case Fence("abs", Times(factors, ops)) if not any(ops):
            return _multiply([expand(Fence("abs", one), own) for one in factors])
        case Times(factors, ops) if "/" not in ops:
            return _expand_product(factors, ops, own)
    return {(symbol_name(node) or to_latex(node),): Fraction(1)}


def _expand_product(factors: tuple[Expr, ...], ops: tuple[str, ...], own: str) -> Sum | None:
    """A product; of one with stars what stands between them is multiplied first."""
    sign = "*" if own == CROSS else own
    if not own or sign not in ops:
        return _multiply([expand(one, own) for one in factors])
    parts: list[list[Expr]] = [[factors[0]]]
    for op, one in zip(ops, factors[1:], strict=True):
        parts.append([one]) if op == sign else parts[-1].append(one)
    sums = [_multiply([expand(one, own) for one in part]) for part in parts]
    total = sums[0]
    for other in sums[1:]:
        total = _combine(total, other, own)
    return total


def _combine(left: Sum | None, right: Sum | None, own: str) -> Sum | None:
    """Each word of one sum with each of another, as one letter."""
    if left is None or right is None or len(left) * len(right) > MAX_TERMS:
        return None
    return add_sums([{_join(a, b, own): c * d} for a, c in left.items() for b, d in right.items()])


def _join(left: Word, right: Word, own: str) -> Word:
    """Two words with a sign between them; a number is a factor."""
    if not left or not right:
        return left or right
    texts = [one[0] if len(one) == 1 else " ".join(sorted(one)) for one in (left, right)]
    if own == CROSS:
        return (f"({texts[0]} * {texts[1]})",)
    return (" * ".join(sorted(part for text in texts for part in text.split(" * "))),)


def _speaks(step: Step, pattern: QuickPattern) -> bool:
    return any(pattern.search(one.words) for one in step.far_words)


def _differs(step: Step, order: Callable[[Word], Word], own: str = "") -> bool:
    """Whether both sides are other sums of words, once each word has been put in order."""
    sides = [expand(side, own) for side in (step.left, step.right)]
    if sides[0] is None or sides[1] is None:
        return False
    left, right = (add_sums([{order(word): c} for word, c in (one or {}).items()]) for one in sides)
    return left != right


def _sort(word: Word) -> Word:
    return tuple(sorted(word))


def _keep_order(word: Word, letters: frozenset[str]) -> Word:
    """A word with its numbers in front, and without letters beside their inverses."""
    numbers = [one for one in word if not any(_has_letter(one, letter) for letter in letters)]
    kept: list[str] = []
    for one in (each for each in word if each not in numbers):
        if kept and _INVERSE in (kept[-1] + one) and kept[-1].removesuffix(_INVERSE) == one.removesuffix(_INVERSE):
            kept.pop()
        else:
            kept.append(one)
    return (*sorted(numbers), *kept)


def _has_letter(factor: str, letter: str) -> bool:
    return bool(re.search(rf"(?<![a-zA-Z\\]){re.escape(letter)}(?![a-zA-Z])", factor))


def _conjugate(some: Sum) -> Sum:
    return {tuple(f"conjugate of {one}" for one in word): c for word, c in some.items()}


def scale_sum(some: dict[Key, Fraction] | None, by: Fraction) -> dict[Key, Fraction] | None:
    """A sum times a number.

    Args:
        some: The coefficients of its words, None where there were too many.
        by: The number.
    """
    return None if some is None else {word: by * c for word, c in some.items()}


def add_sums(parts: Iterable[dict[Key, Fraction] | None]) -> dict[Key, Fraction] | None:
    """Some sums as one, without the words that cancel; None where one of them is None.

    Args:
        parts: The coefficients of each.
    """
    total: dict[Key, Fraction] = {}
    for part in parts:
        if part is None:
            return None
        for word, c in part.items():
            total[word] = total.get(word, Fraction(0)) + c
    return {word: c for word, c in total.items() if c}


def _multiply(parts: list[Sum | None]) -> Sum | None:
    total: Sum = {(): Fraction(1)}
    for part in parts:
        if part is None or len(total) * len(part) > MAX_TERMS:
            return None
        total = add_sums([{(*a, *b): c * d} for a, c in total.items() for b, d in part.items()]) or {}
    return total


__all__ = ["add_sums", "expand", "find_other_product", "scale_sum"]

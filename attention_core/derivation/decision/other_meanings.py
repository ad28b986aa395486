r"""Sentences by which the formulas of a document mean something else than formulas of real numbers do.

No hypothesis makes good a wrong sign or number (see `slips`), but a sentence may say what a sign means: "A plus stands
for 'or'", "Let $k$ be a field of characteristic $2$", "the sum runs over unordered pairs", "the generators
anticommute". Such sentences are of a few kinds, and each of them is about steps of a certain form:

* other numbers: what is true where $1 + 1 = 0$ (every wrong sign is) or where $1 + 1 = 1$ (each term counts once);
* other sums: over pairs, over some of the indices, or from zero on;
* letters that change their sign when they are exchanged, and equality of something else than numbers;
* symbols that move with the variable of a derivative: weights that are shared, two legs that grow alike;
* other orders and products: vectors of spacetime, for which the inequalities of geometry are reversed;
* the convention of a whole text that its formulas hold in a limit, or but for a factor, or that a constant has another
  value at each place;
* what an operation of the step is: "$\binom{n}{k}$ is the number of subspaces".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction

from attention_core.derivation.decision.conventions import collect_symbols
from attention_core.derivation.decision.free_products import Sum, expand
from attention_core.derivation.decision.mends import TURNED
from attention_core.derivation.decision.other_intents import has_bits, has_real_functions, integrates
from attention_core.derivation.decision.usual import operations_of
from attention_core.derivation.decision.words_below import list_words
from attention_core.derivation.inference.usage import walk
from attention_core.derivation.latex.syntax import Big, Frac, Minus
from attention_core.derivation.quick_patterns import QuickPattern, compile_quick
from attention_core.derivation.reading.step import FarWords, Step
from attention_core.derivation.terms.context import Caveat

NEAR = 3  # lines around a step whose words may be about it


def _compile_any(*patterns: str) -> QuickPattern:
    """One of some patterns, as whole words."""
    return compile_quick(rf"\b(?:{'|'.join(patterns)})(?!\w)", re.IGNORECASE)


_NEXT = r"[^.;]{0,40}\b"  # some words of the same clause
_TO_DROP = (
    r"(?:ignor\w*|neglect\w*|drop(?:s|ped|ping)?|omit\w*|discard\w*|suppress\w*|forg[eo]t\w*|keep track|absorb\w*|"
    r"up to|hid(?:e|den)|le(?:ave|ft) out)"
)
_OF_FACTORS = r"(?:constants?|factors?|coefficients?|terms?|signs?|normali[sz]\w+)"
_COUNT = r"(?:\d+|p|q|two|three|four|five|seven)"
FOLLOWS = compile_quick(
    r"\b(?:throughout|everywhere|always|henceforth|hereafter|from (?:now|here) on|(?:what|that|which) follows|the rest|"
    r"(?:in|of) (?:this|these|the following|our) (?:documents?|notes?|sections?|chapters?|pages?|examples?)|"
    r"all (?:arithmetic|results|sums|calculations|(?:of )?(?:this|it))|arithmetic|calculat\w*|convention\w*|"
    r"(?:is|are|be|being|was|were) (?:added|counted|summed|multiplied))\b",
    re.IGNORECASE,
)
"""Words of a sentence about all that follows."""
_HABIT = _compile_any(
    r"all (?:formulas?|equations?|statements?|expressions?)",
    r"only (?:the )?(?:absolute values?|magnitudes?|moduli)",
    r"notation|freely|as usual|only of interest|never|often|generally",
    r"do(?:es)? not (?:keep|care|write|track|matter|distinguish)",
    r"are (?:suppressed|ignored|neglected|dropped|omitted|forgotten|discarded|absorbed|hidden)",
)
"""Words of what an author does all the time."""
_RINGS = _compile_any(
    rf"characteristic (?:of .{{0,20}})?(?:is )?{_COUNT}",
    r"(?:binary|finite|galois|prime|extension) fields?|reed-?solomon|aes",
    r"fields? (?:(?:with|of|having) (?:\S+ )?(?:elements?|order)|in which)",
    rf"{_COUNT} (?:equals|is) (?:zero|0)",
    r"coefficients? (?:in|modulo|mod|are (?:bits|residues))",
    r"symmetric differences?|exclusive or|parit(?:y|ies)|even or odd|odd or even|evenness|cardinals?",
    r"order (?:two|2)|residues",
    r"own (?:additive )?(?:inverses?|negatives?|opposites?)|equals minus itself",
    r"negative of (?:an?|each|every|the) element",
    r"no carr(?:y|ies)|without (?:a )?carr\w*|nim[- ]?(?:ber|sum|add\w*|mult\w*|value)s?|nimbers?",
    r"modulo|mod \S+|remainders? (?:on|by|after|upon|when|only)|with remainders|unsigned|wraps? around",
    rf"(?:twice|again|once more){_NEXT}(?:nothing|undo(?:es|ne)?|cancels?)|undo(?:es|ne)? by|(?:falls?|drops?) off",
    r"(?:ones|equal \w+|copies|of them) (?:make|give|add up to|sum to) (?:nothing|zero)",
    r"with itself (?:is|yields|gives|makes)",
)
"""Words of calculations in which $1 + 1$ is 0, or something else than 2."""
_TERMS_ONCE = _compile_any(
    r"idempoten\w+|unions?|joins?|meets?|lattices?|semi-?rings?|tropical|duplicat\w*|alternatives?|disjunct\w*",
    r"set semantics|regular expressions?|boolean|logic gates?|(?:networks?|circuits?) of gates|gate networks?|karnaugh",
    r"cardinals?|switches in (?:series|parallel)|switching (?:circuits?|algebras?)|truth values?|as good as one",
    r"stored once|(?:later|earlier|larger|smaller|better|greater|maximum|minimum) of (?:two|both|its|them)",
    rf"(?:twice|doubled?){_NEXT}(?:once|nothing|no longer|the same)|with itself (?:is|yields|gives|makes)",
    rf"plus{_NEXT}(?:or|denotes?|means?|stands? for|separat\w+)|as addition",
    rf"(?:sums?|addition){_NEXT}(?:means|denotes|stands for|is the (?:later|larger|union|or))",
)
"""Words of calculations in which $1 + 1 = 1$."""
_OR = re.compile(r"\b(?:OR|AND)\b|\\(?:lor|land|vee|wedge)\b")
_EXCHANGE = _compile_any(
    r"anti-?commut\w*|grassmann\w*|exterior (?:algebras?|products?|derivatives?)|differential forms?|wedge|fermion\w*",
    r"super-?(?:algebra|space|symmetr|field|number)\w*|clifford|geometric algebra|graded (?:algebra|leibniz|commut)\w*",
    r"change\w* (?:its|their|the) signs?",
)
"""Words by which letters change their sign when they are exchanged."""
_INFINITE = _compile_any(
    r"ordinals|ordinal (?:numbers?|arithmetic|sums?|addition|products?|multiplication|powers?)|transfinite",
    r"infinite (?:cardinals?|numbers?|sets?|ordinals?)|alephs?|hilbert'?s hotel|countably infinite|cardinalit(?:y|ies)",
    r"surreal numbers?",
)
"""Words of numbers that stay as large when something is added."""
_EQUALS = _compile_any(
    r"(?:equality|equals?) signs? (?:between|means?|denotes?|stands?|for|is|are)|are identified|interval arithmetic"
)
"""Words by which what is equal is not one number."""
_INDICES = _compile_any(
    r"unordered|(?:each|every|all|no|one)(?: of the)?(?: \S+)? pairs?[^.;]{0,40}\bonce|primed? sums?",
    r"(?:more than|counted|noted|entered) once",
    r"(?:distinct|different|even|odd|prime) (?:pairs?|indices|observations?|elements?|numbers|positions?)",
    rf"(?:diagonal|terms?){_NEXT}(?:left out|excluded|omitted|skipped)",
)
_STARTS = _compile_any(
    r"zero-based",
    r"(?:count\w*|number\w*|ind(?:ex|ices)\w*|start\w*|begin\w*)[^.;]{0,20}\b(?:at|from|with) (?:zero|one|0|1)",
)
_NUMBERS = _compile_any(
    r"angles?|radians?|headings?|compass|(?:half|quarter|full) (?:a )?(?:turns?|circles?)|decibels?|logarithmic|cipher",
    r"speed of light|relativis\w+|machine numbers?|decimal (?:digits|places)|percent(?:ages?)?|compound(?:s|ed)",
    r"no (?:\w+ )?(?:zero|0)|ground floor|fence ?posts?",
    r"inclusive(?:ly)?|carr(?:y|ies) (?:to|is|are|digits?|bits?)|music\w*",
    r"(?:months?|weeks?|weekdays?|hours?|days?) (?:are|is|has|later|after|of the)",
    r"normali[sz]ed (?:haar )?measures?|measures?(?: \S+){1,6} normali[sz]ed|integrals(?: \S+){0,4} are averages",
    r"clipp(?:ed|ing)|saturat\w*|overflow\w*|arithmetic of|mixed numbers?|roman numerals?",
    r"hexadecimal|octal|in (?:binary|base)",
    r"binary (?:numbers?|digits?|addition|notation|system)|significant (?:digits|figures)",
    r"(?:numbers?|values?|results?|digits) (?:are|is|get) (?:rounded|cut|truncated)",
)
"""Words of calculations with numbers that are written or added in another way."""
_INTEGERS = _compile_any(
    r"integer divisions?|(?:slash|division|quotient)(?: \S+){0,5} (?:discards?|drops?|throws?|truncat\w*|cuts?)",
    r"(?:with|of) integers only|whole numbers only|throws? the (?:fraction|remainder) away",
)
_MOVES = _compile_any(
    r"tied|tying|shared?|same (?:rate|speed|weights?|parameters?|variable)|identical",
    r"as (?:long|large|big|fast|high|much) as (?:the|it)|both (?:places|paths|copies)|occurs? twice",
    r"(?:move|changed?) together|implicit(?:ly)? differentiat\w*|related rates",
)
_LIMIT = _compile_any(
    r"thermodynamic|macroscopic|continuum|without (?:bound|limit)|grows?|growing|asymptot\w*|in the limit|infinitely",
    r"(?:do(?:es)?|need|did) not distinguish|so (?:large|small|big|many) that|avogadro\w*|negligib\w*|neglect\w*",
)
_DROPS = _compile_any(
    rf"{_TO_DROP}{_NEXT}{_OF_FACTORS}",
    rf"{_OF_FACTORS}{_NEXT}{_TO_DROP}",
    r"only (?:the )?(?:absolute values?|magnitudes?|moduli) (?:matters?|counts?)|signs? (?:does|do) not matter",
)
_VALUES = _compile_any(
    r"(?:each|every|any) (?:appearance|occurrence)|renam\w+|new names?|generic constants?",
    r"(?:not|need not be) (?:always )?the same",
    rf"(?:value|it|they|constants?|name){_NEXT}(?:differ|change|grow|vary|increase)s?{_NEXT}"
    r"(?:each|every|next|following|line|step|place|inequality|estimate)",
)
_OF_SIGNS = _compile_any(
    r"anti-?symmetr\w*|alternat(?:es|ing)|skew|gauged?|phases?|subtract(?:ion|ed|s)",
    r"signs?|minus|plus|negated?|opposites?|negative (?:norm|subspace)s?|revers\w+|flip\w*",
    r"orient\w+|mirror\w*|reflect\w*|swap\w*|exchanged",
    r"(?:is|are|counts?|counted|enters?) (?:as )?negative(?:ly)?",
    r"in the convention",
)
_DIRECTIONS = _compile_any(
    r"towards? (?:each other|one another)|head-on|obtuse|virtual (?:images?|objects?)|(?:up|down)wards?",
    r"chang\w+ (?:its|the|their) direction",
)
"""Words of a picture in which what is written with a plus is taken away: they are said once, at its start."""
_OF_NUMBERS = _compile_any(
    r"factors? of|twice|doubl\w+|half|halve[sd]|tripl\w+|count(?:s|ed)|once|divided|copies",
    r"multiplicit\w*|coefficients?|prefactors?|symmetry factors?|unordered|one term",
)
_OF_MEANINGS = _compile_any(
    r"quotient by|ideals?|metric is|equality (?:is|means|for|signs?|in|of)|identified|distinguish\w*|stands? for",
    r"subspaces?",
    r"(?:same|equivalent) (?:up to|class|element|line|point|note|thing|object)s?",
    r"(?:sums?|squares?|products?|differences?|addition|multiplication)(?: of \w+)? (?:is|are)",
)
_SPACETIME = _compile_any(
    r"minkowski|lorentz(?:ian)?|timelike|spacelike|spacetime|proper times?|hyperbolic (?:plane|numbers?)",
    r"indefinite (?:form|metric|inner product)s?|metric signature",
)
"""Words of vectors for which the inequalities of geometry are reversed."""
_OF_ORDERS = _compile_any(
    r"revers\w+|the other way|right to left|order(?:s|ed)? (?:by|so|relation)|as an order|partial orders?|prefer\w*",
    r"divisibility|divides|smaller is|larger is|at least as good|dominates|we compare",
)
"""Words by which an inequality may be one of something else than numbers."""
_ORDER = re.compile(
    r"\$\s*\\?[a-zA-Z]+\s*(?:[<>]|\\(?:[lg]eq?(?:slant)?|preceq|prec|succ|succeq)\b)\s*\\?[a-zA-Z]+\s*\$,? "
    r"(?:denotes?|means?|stands? for|if|when|iff)\b"
)
"""A sentence that says what an order is."""
_OTHERWISE = _compile_any(
    r"(?:negative|minus)(?: the)?[ -](?:log|sampl)\w*",
    r"square root|at least once|once (?:again|more)|opposite direction",
    r"(?:using|by|after) (?:\w+ ){0,2}subtract\w+",
    r"(?:sums?|squares?|products?)(?: of \w+)? (?:is|are) (?:computed|calculated|evaluated|expanded)",
)
"""Words that speak of a sign, a number or a product, and say nothing of what it means."""
_EMPHASIS = re.compile(r"\*+|\\(?:emph|textbf|textit)(?![a-zA-Z])")
_SIGNS, _NUMBERS_OF = frozenset({"signs", "side_signs"}), frozenset({"without", "numbers", "coefficients"})
_SAYS = r",?\s*(?:denotes?|counts?|means?|stands? for|(?:is|are|be) (?:the|an?|meant|taken|understood|read))\b"
_OPERATIONS = (
    (re.compile(rf"\$\s*\\?[a-zA-Z]+\s*\+\s*\\?[a-zA-Z]+\s*\${_SAYS}"), "+"),
    (re.compile(rf"\$\s*\\sum[^$=]{{0,20}}\$[^.;$]{{0,30}}{_SAYS}"), "sum"),
    (re.compile(rf"\$\s*\\?[a-zA-Z]+\s*!\s*\${_SAYS}"), "!"),
    (re.compile(rf"\$[^$=<>]{{0,20}}\\[dt]?binom[^$=<>]{{2,20}}\${_SAYS}(?![^.;]*\b(?:binomial|ways|choos))"), "binom"),
)
"""Sentences that say what an operation is, each with what stands in a step that has it."""


def may_mean_otherwise(step: Step) -> bool:
    """Whether a sentence of the document may say that the formula of a false step means something else.

    Args:
        step: A step that is false as it was read, and that one small change makes an identity.
    """
    words = list_words(step)
    if _any(words, _EQUALS, *_kinds_of_letters(step)) or may_calculate_otherwise(step) or _divides_integers(step):
        return True
    if step.op in TURNED:
        return _any(words, _SPACETIME) or any(_ORDER.search(one.quote) for one in words)
    symbols = collect_symbols(step)
    if not symbols:
        return not integrates(step) and find_other_numbers(step) is not None
    sums = [node for side in (step.left, step.right) for node in walk(side) if isinstance(node, Big)]
    if sums and _any(words, _INDICES):
        return True
    if not all(map(_says_start, sums)) and _any(words, _STARTS):
        return True
    beside = [one for one in words if abs(one.line - step.line) <= 2 * NEAR or _find_names(one) & symbols]
    return len(symbols) > 1 and _any(beside, _MOVES) and "deriv" in operations_of(step)


def _kinds_of_letters(step: Step) -> list[QuickPattern]:
    """The words of other letters than numbers that may be those of a step: of infinite ones nothing is taken away.

    Letters that change their sign have exponentials: $e^{\\theta \\eta} = 1 + \\theta \\eta$.
    """
    nodes = (node for side in (step.left, step.right) for node in walk(side))
    finite = has_real_functions(step) or any(isinstance(node, Minus | Frac) for node in nodes)
    return [_EXCHANGE] if finite else [_EXCHANGE, _INFINITE]


def _says_start(node: Big) -> bool:
    """Whether a sum says which value of its index is the first one."""
    return any("=" in chain.ops for chain in node.below)


def may_calculate_otherwise(step: Step) -> bool:
    """Whether a sentence may say what an operation is, that factors are dropped, or that $1 + 1$ is not 2.

    Args:
        step: A step that is false as it was read, and that one small change makes an identity.
    """
    words = list_words(step)
    if _redefines(step) or any(_is_convention(step, one) for one in words):
        return True
    if step.op in TURNED:
        return False
    if has_real_functions(step):
        return False
    sides = [expand(side) for side in (step.left, step.right)]
    if _is_true_of_bits(sides) and _any(words, _RINGS):
        return True
    return _is_true_of_sets(step, sides) and (_any(words, _TERMS_ONCE) or any(_OR.search(one.quote) for one in words))


def speaks_of_change(caveat: Caveat, kind: str, line: int) -> bool:
    """Whether a sentence that was not read speaks of what a slip changes, or of what equality and sums mean.

    Args:
        caveat: What was not read.
        kind: What is changed: a sign or a number (see `mends`).
        line: Where the step stands; words far from it count if they are about all that follows.
    """
    if kind in _SIGNS and abs(caveat.line - line) <= 8 * NEAR and _DIRECTIONS.search(caveat.quote):
        return True
    if abs(caveat.line - line) > 2 * NEAR and not (FOLLOWS.search(caveat.quote) or _HABIT.search(caveat.quote)):
        return False
    own = _OF_SIGNS if kind in _SIGNS else _OF_NUMBERS if kind in _NUMBERS_OF else _OF_ORDERS
    quote = _OTHERWISE.sub(" ", _EMPHASIS.sub("", caveat.quote))
    return bool(own.search(quote) or (own is not _OF_ORDERS and _OF_MEANINGS.search(quote)))


def find_other_numbers(step: Step) -> FarWords | None:
    """The words by which the numbers of a step without symbols may be added in another way, None for none.

    Args:
        step: The step.
    """
    patterns = (_NUMBERS, _RINGS, *((_TERMS_ONCE,) if has_bits(step) else ()))
    return next((one for one in step.far_words if _any([one], *patterns)), None)


def _divides_integers(step: Step) -> bool:
    """Whether a quotient of a step may be cut off, as the language of a program does it."""
    return any(isinstance(node, Frac) for side in (step.left, step.right) for node in walk(side)) and _any(
        list_words(step), _INTEGERS
    )


def _redefines(step: Step) -> bool:
    """Whether a sentence says what an operation of a step is."""
    return any(mark in step.text and says.search(one.quote) for says, mark in _OPERATIONS for one in step.far_words)


def _is_convention(step: Step, one: FarWords) -> bool:
    """Whether words say that formulas hold in a limit or but for factors, or that a constant has many values.

    Words far from the step do so if they are about all that follows, or about a symbol of the step.
    """
    near = abs(one.line - step.line) <= NEAR
    habit = FOLLOWS.search(one.words) or _HABIT.search(one.words)
    if _LIMIT.search(one.words) or _DROPS.search(one.words):
        return near or bool(habit)
    if not _VALUES.search(one.words):
        return False
    return near or bool(FOLLOWS.search(one.words)) or bool(_find_names(one) & collect_symbols(step))


def _find_names(one: FarWords) -> set[str]:
    """The formulas of a sentence that may be symbols."""
    return {formula.strip() for formula in re.split(r"(?<!\\)\$", one.quote)[1::2]}


def _is_true_of_bits(sides: list[Sum | None]) -> bool:
    """Whether the sides of a step differ by an even multiple of each product, as those do that differ in a sign.

    Sides that are something else than sums of products with whole coefficients may.
    """
    left, right = (None if one is None else _sort_words(one) for one in sides)
    if left is None or right is None:
        return True
    gaps = [left.get(word, Fraction(0)) - right.get(word, Fraction(0)) for word in {*left, *right}]
    return all(gap.denominator != 1 or gap.numerator % 2 == 0 for gap in gaps)


def _is_true_of_sets(step: Step, sides: list[Sum | None]) -> bool:
    """Whether the sides of a step without a minus have the same products, whatever their coefficients are."""
    if any(isinstance(node, Minus) for side in (step.left, step.right) for node in walk(side)):
        return False
    left, right = (None if one is None else set(_sort_words(one)) for one in sides)
    return left is not None and left == right


def _sort_words(some: Sum) -> Sum:
    """A sum whose products are those of numbers."""
    found: Sum = {}
    for word, c in some.items():
        one = tuple(sorted(word))
        found[one] = found.get(one, Fraction(0)) + c
    return found


def _any(words: Iterable[FarWords], *patterns: QuickPattern) -> bool:
    return any(pattern.search(one.quote.replace("$", "")) for one in words for pattern in patterns)


__all__ = ["FOLLOWS", "find_other_numbers", "may_mean_otherwise", "speaks_of_change"]

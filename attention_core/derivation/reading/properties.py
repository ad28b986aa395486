r"""Words such as "symmetric", "a unit vector" or "orthonormal", and where they stand.

A property stands after its symbol ("$A$ is symmetric", "$A \in \mathbb{R}^{n \times n}$ with orthonormal columns") or
before it ("a unit vector $u$"). Each has one meaning for a kind of symbol (see `property_meanings`); of anything else,
or placed elsewhere, it is not read, and the words stay among those that are not understood.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from attention_core.derivation.document.blocks import KEPT_SENTENCES
from attention_core.derivation.reading.property_endings import keeps_property
from attention_core.derivation.reading.property_meanings import (
    Meaning,
    any_functions,
    binary,
    centred,
    chance,
    chances,
    column_stochastic,
    commuting,
    convex_functions,
    definite,
    distinct,
    doubly_stochastic,
    equal,
    everywhere,
    full_column_rank,
    linearly_independent,
    make_between_rule,
    make_comparison_rule,
    make_line_norms,
    make_line_sums,
    make_magnitude_rule,
    make_number_form,
    make_order_rule,
    make_sign_rule,
    negative_definite,
    nonzero,
    nothing_new,
    of_one_norm,
    one_hot,
    orthogonal,
    orthogonal_to_each_other,
    orthonormal,
    orthonormal_basis,
    orthonormal_columns,
    orthonormal_rows,
    probabilities,
    row_stochastic,
    square_form,
    squares,
    standard_normal,
    sums_to_one,
    sums_to_zero,
    tridiagonal,
    unit,
    unit_frobenius,
    whole,
    zero_where,
)


@dataclass(frozen=True)
class Property:
    """Words, and the formulas they mean for symbols that are declared; None where they mean nothing certain.

    `made` makes the meaning of words that name numbers. `open` says that some authors mean it without the ends, as
    "between 0 and 1" and "increasing". Where a word of `unless` stands beside it, it is not read.
    """

    name: str
    pattern: re.Pattern[str]
    meaning: Meaning = nothing_new
    made: Callable[[re.Match[str]], Meaning] | None = None
    open: bool = False
    unless: re.Pattern[str] | None = None


def _words(text: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-])(?:{text})(?![\w-])", re.IGNORECASE)


def _form(text: str) -> re.Pattern[str]:
    """Words that say what a symbol is where a verb stands before them and nothing is added: "is zero", "be one."."""
    return re.compile(
        rf"(?:(?<=\bis )|(?<=\bare )|(?<=\bbe ))(?:{text})(?![\w-]|\.\d|\s*,\s*\d)"
        r"(?=\s*(?:[.,;:)]|$|and(?:\s+let)?\s*$|(?:so|then|for|with|where|we)\b))",
        re.IGNORECASE,
    )


_VALUES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBER = rf"(?:minus )?(?:{'|'.join(_VALUES)})|[-\u2212]?\d+(?:\.\d+)?"
_ENDS_NUMBER = r"(?=\s*(?:[,;:)]|\.(?!\d)|$|and\b|or\b))"
_COMPARED = {
    "ge": r"at least|no(?:t)? (?:less|smaller) than",
    "le": r"at most|no(?:t)? (?:more|larger|greater) than",
    "gt": r"(?:strictly )?(?:larger|greater|more|bigger) than|exceeds|exceed|exceeding|above",
    "lt": r"(?:strictly )?(?:smaller|less|lower) than|below",
}
_OPS = {"ge": r"\ge", "le": r"\le", "gt": ">", "lt": "<"}


def _value(text: str) -> str:
    """A number that is written in digits or in words."""
    sign, rest = ("-", text[6:]) if text.lower().startswith("minus ") else ("", text)
    rest = rest.replace("\u2212", "-")
    return sign + (str(_VALUES.index(rest.lower())) if rest.lower() in _VALUES else rest)


def _relation(found: re.Match[str]) -> tuple[str, str]:
    """The sign and the number of words such as "at least two"."""
    return next(op for name, op in _OPS.items() if found[name]), _value(found["value"])


_SIGNS = "|".join(f"(?P<{name}>{words})" for name, words in _COMPARED.items())
_COMPARISON = re.compile(
    rf"(?<!has )(?<!have )(?<!having )(?<![\w-])(?:{_SIGNS}) (?P<value>{_NUMBER})"
    rf"(?P<size> in (?:absolute value|magnitude|modulus))?{_ENDS_NUMBER}",
    re.IGNORECASE,
)
_MAGNITUDE = re.compile(
    rf"(?<![\w-])(?:of|with|has|have|having) (?:absolute value|magnitude|modulus) (?:{_SIGNS}) (?P<value>{_NUMBER})"
    rf"{_ENDS_NUMBER}",
    re.IGNORECASE,
)
_BETWEEN = re.compile(
    rf"(?<![\w-])(?P<strictly>strictly )?(?:lies |lie |lying )?between (?P<low>{_NUMBER}) and (?P<high>{_NUMBER})"
    rf"(?P<ends>,? (?:inclusive|both included))?{_ENDS_NUMBER}",
    re.IGNORECASE,
)


def _make_comparison(found: re.Match[str]) -> Meaning:
    op, value = _relation(found)
    return make_magnitude_rule(op, value) if found["size"] else make_comparison_rule(op, value)


_LINE_SUMS = re.compile(
    rf"(?<![\w-])(?:with |has |have )?(?P<part>rows|columns) (?:that sum|that add up|summing|adding up) to "
    rf"(?P<value>{_NUMBER})"
    rf"{_ENDS_NUMBER}",
    re.IGNORECASE,
)


def _make_line_sums(found: re.Match[str]) -> Meaning:
    return make_line_sums(found["part"].lower() == "rows", _value(found["value"]))


_ENTRY_VALUE = re.compile(
    rf"(?<![\w-])with (?:all (?:its |of its |the )?)?entries equal to (?P<value>{_NUMBER}){_ENDS_NUMBER}", re.IGNORECASE
)


def _make_centred_lines(found: re.Match[str]) -> Meaning:
    return make_line_sums(found["part"].lower() == "rows", "0")


def _make_line_norms(found: re.Match[str]) -> Meaning:
    return make_line_norms(found["part"].lower() == "rows")


def _make_between(found: re.Match[str]) -> Meaning:
    ends = (">", "<") if found["strictly"] else (r"\ge", r"\le")
    return make_between_rule(ends, _value(found["low"]), _value(found["high"]))


_NORM_ONE = (
    r"(?:normali[sz]ed |scaled )?to (?:have )?unit (?:euclidean )?(?:norm|length)|(?:l2|euclidean)[ -]normali[sz]ed|"
    r"unit[ -](?:euclidean )?(?:norms?|lengths?|vectors?)|on the unit (?:hyper)?sphere|"
    r"(?:euclidean )?(?:norm|length) (?:1|one|unity)|unit"
)
_OF_A_CLASS = (
    r"(?:samples?|examples?|pairs?|class(?:es)?|labels?|cases?|instances?|points?|keys?|documents?|passages?)\b"
)
"""What is positive or negative as a class is, and not as a number is."""
_ENTRIES = r"(?: (?:entries|components|elements|coordinates))"
_LAWS = re.compile(r"\b(?:standard|random|gaussian|i\.?i\.?d|distribut\w*|independent\w*|drawn)\b", re.IGNORECASE)
_RANDOM = re.compile(
    r"\b(?:random|noise|distribut\w*|drawn|sampled?|independent\w*|i\.?i\.?d|gaussian|normal\w*|variances?|entries|"
    r"components|columns|rows|each)\b",
    re.IGNORECASE,
)
_UP, _DOWN = r"(?:increasing|ascending)", r"(?:decreasing|descending)"
_ORDER = r"(?:in|(?:sorted|ordered|arranged) in)"
_ROW_SUMS, _COLUMN_SUMS = r"\sum_{j = 1}^{n} A_{i j} = 1", r"\sum_{i = 1}^{n} A_{i j} = 1"
_SPECTRUM = (
    r"(?: matri(?:x|ces))?,? (?:and )?(?:with|of|has|have|having) (?:all |only )?(?:its )?{} (?:eigenvalues|spectrum)"
)
_ON_DIAGONAL = (
    r"(?: matri(?:x|ces))?,? (?:and )?(?:with|of|has|have|having) (?:all |only )?{} (?:(?:main )?diagonal )?"
    r"(?:entries|elements|components)(?: (?:on|along) (?:its|the|their) (?:main )?diagonal)?"
)
_DIAGONAL_ENTRIES = (
    r"(?:with|of|has|have|having) (?:all |only )?{0} (?:diagonal (?:entries|elements)|"
    r"(?:entries|elements) (?:on|along) (?:its|the|their) diagonal)"
)
_STRUCTURES: tuple[Property, ...] = (
    Property("permutation", _words(r"(?:an? )?permutation matri(?:x|ces)"),
             squares((r"A_{i j}^2 = A_{i j}", ""), (_ROW_SUMS, ""), (_COLUMN_SUMS, ""))),
    Property("normal matrix", _words(
        r"(?:an? )?normal matri(?:x|ces)|commut(?:e|es|ing) with (?:its|their) (?:own )?transposes?"),
             squares((r"A A^\top = A^\top A", "")), unless=_LAWS),
    Property("normal", _form("normal"), squares((r"A A^\top = A^\top A", "")), unless=_LAWS),
    Property("nonnegative spectrum", _words(rf"symmetric{_SPECTRUM.format('non-?negative')}"), definite(False)),
    Property("positive spectrum", _words(rf"symmetric{_SPECTRUM.format('(?:strictly )?positive')}"), definite(True)),
    Property("positive diagonal", _words(rf"diagonal{_ON_DIAGONAL.format('(?:strictly )?positive')}"),
             squares((r"A_{i j} = 0", r"\ne"), (r"A_{i i} > 0", ""))),
    Property("nonnegative diagonal", _words(rf"diagonal{_ON_DIAGONAL.format('non-?negative')}"),
             squares((r"A_{i j} = 0", r"\ne"), (r"A_{i i} \ge 0", ""))),
    Property("nonzero diagonal", _words(rf"diagonal{_ON_DIAGONAL.format('non-?zero')}"),
             squares((r"A_{i j} = 0", r"\ne"), (r"A_{i i} \ne 0", ""))),
    Property("linearly independent", _words(r"linearly independent"), linearly_independent),
    Property("centred", _words(
        r"(?:mean-)?cent(?:er)?ed|(?:mean-)?centred|(?:of |with |has |have |having )?(?:zero|0)[ -]mean|"
        r"(?:of |with |has |have |having )?mean (?:zero|0)"), centred, unless=_RANDOM),
    Property("strictly increasing", _words(rf"strictly {_UP}|in strictly {_UP} order"), make_order_rule("<")),
    Property("strictly decreasing", _words(rf"strictly {_DOWN}|in strictly {_DOWN} order"), make_order_rule(">")),
    Property("ascending", _words(rf"{_ORDER} (?:{_UP}|non-?decreasing) order|non-?decreasing|{_UP}"),
             make_order_rule(r"\le"), open=True),
    Property("descending", _words(rf"{_ORDER} (?:{_DOWN}|non-?increasing) order|non-?increasing|{_DOWN}"),
             make_order_rule(r"\ge"), open=True),
    Property("even", _form("even"), make_number_form("2 m")),
    Property("odd", _form("odd"), make_number_form("2 m - 1")),
    Property("a power of two", _words(r"an? (?:integer )?power of (?:two|2)|powers of (?:two|2)"),
             make_number_form("2^{m - 1}", counted=True)),
    Property("a square number", _words(r"an? (?:perfect square|square number)|perfect squares"),
             make_number_form("m^2")),
    Property("whole", _words(r"(?:an? )?(?:integers?|whole numbers?)(?:-valued)?|integer-valued"), whole),
    Property("between", _BETWEEN, made=_make_between, open=True),
    Property("a magnitude", _MAGNITUDE, made=lambda found: make_magnitude_rule(*_relation(found))),
    Property("commuting", _words(r"(?:pairwise |mutually )?commut(?:e|ing)(?: with (?:each other|one another))?"
                                   r"(?!\s+with\b)"), commuting),
    Property("of determinant one", _words(r"(?:of|with|has|have|having) (?:determinant (?:one|1)|unit determinant)"),
             squares((r"\det(A) = 1", ""))),
    Property("of trace one", _words(r"(?:of|with|has|have|having) (?:trace (?:one|1)|unit trace)"),
             squares((r"\operatorname{tr}(A) = 1", ""))),
    Property("positive diagonal entries", _words(_DIAGONAL_ENTRIES.format("(?:strictly )?positive")),
             squares((r"A_{i i} > 0", ""))),
    Property("nonnegative diagonal entries", _words(_DIAGONAL_ENTRIES.format("non-?negative")),
             squares((r"A_{i i} \ge 0", ""))),
    Property("nonzero diagonal entries", _words(_DIAGONAL_ENTRIES.format("non-?zero")),
             squares((r"A_{i i} \ne 0", ""))),
    Property("zero diagonal", _words(
        r"(?:of|with|has|have|having) (?:an? )?(?:zero|vanishing) diagonal|(?:with |has |have )?zeros on (?:its|the) "
        r"diagonal"), squares((r"A_{i i} = 0", ""))),
    Property("unit diagonal", _words(
        r"(?:of|with|has|have|having) (?:an? )?unit diagonal|(?:with |has |have )?ones on (?:its|the) diagonal"),
             squares((r"A_{i i} = 1", ""))),
    Property("tridiagonal", _words(r"tri-?diagonal"), tridiagonal),
    Property("strictly upper triangular", _words(r"strictly upper[ -]triangular"), zero_where(r"\ge")),
    Property("strictly lower triangular", _words(r"strictly lower[ -]triangular"), zero_where(r"\le")),
    Property("negative semidefinite", _words(
        r"(?:symmetric,? (?:and )?)?(?:negative semi-?definite|non-?positive definite)"), negative_definite(False)),
    Property("negative definite", _words(r"(?:symmetric,? (?:and )?)?negative definite"), negative_definite(True)),
    Property("involutory", _words(r"involutory|an involution|involutions|(?:equal to )?its own inverse"),
             squares((r"A A = I_{n}", ""))),
    Property("nilpotent", _words(r"nilpotent of (?:index|order|degree) (?:two|2)"), squares((r"A A = 0", ""))),
    Property("unit Frobenius norm", _words(
        r"(?:of|with|has|have|having) (?:unit frobenius norm|frobenius norm (?:one|1|unity))"), unit_frobenius),
    Property("lines of norm one", _words(r"(?:with |has |have )?(?P<part>rows|columns) of unit "
                                         r"norm"), made=_make_line_norms),
    Property("entries equal", _ENTRY_VALUE, made=lambda found: everywhere(_value(found["value"]))),
    Property("centred lines", _words(r"(?:mean-)?(?:centered|centred|zero-mean) (?P<part>rows|"
                                     r"columns)"), made=_make_centred_lines),
    Property("row sums", _LINE_SUMS, made=_make_line_sums),
    Property("finite", _words(r"finite|real-valued"), nothing_new),
)  # fmt: skip
PROPERTIES: tuple[Property, ...] = (
    Property("differentiable", _words(
        r"(?:twice |continuously |infinitely )*(?:differentiable|smooth)(?: functions?)?"), any_functions),
    Property("convex", _words(r"(?:differentiable (?:and )?)?convex(?: functions?)?"), convex_functions),
    Property("standard normal", _words(r"standard[ -](?:normals?|gaussians?)(?: (?:entries|components|"
    r"coordinates))?"),
             standard_normal),
    Property("probability vector", _words(
        r"(?:discrete )?probability (?:vectors?|distributions?|mass functions?)|(?:discrete|categorical) "
        r"distributions?|"
        r"probabilities that (?:sum|add up) to (?:1|one)|"
        r"vectors? of (?:class |attention |output |category )?probabilities|a stochastic vector|"
        r"(?:(?:a point|an element|a member) )?(?:in|on|from|of) the (?:probability )?simplex"), probabilities),
    Property("one-hot", _words(
        r"(?:a )?one[ -]hot(?:[ -]encoded| (?:label|target|encoding|indicator))?(?: vectors?)?|(?:an? )?(?:standard|"
        r"canonical) (?:basis|unit) vectors?"), one_hot),
    Property("in the unit interval", _words(r"in the unit interval"), chance),
    Property("a probability", _words(
        r"an? (?:probability|chance)(?! (?:vector|distribution|measure|density|mass|space))"), chance),
    Property("probabilities", _words(r"probabilities(?! (?:that|which|of))"), chances),
    Property("sums to zero", _words(
        r"(?:entries )?(?:that |which )?(?:sums?|summing|adds? up|adding up)(?: up)? to (?:0|zero)"), sums_to_zero),
    Property("sums to one", _words(
        r"(?:entries )?(?:that |which )?(?:sums?|summing|adds? up|adding up)(?: up)? to (?:1|one|unity)"), sums_to_one),
    Property("doubly stochastic", _words(r"doubly[ -]stochastic"), doubly_stochastic),
    Property("column-stochastic", _words(r"(?:column|left)[ -]stochastic"), column_stochastic),
    Property("row-stochastic", _words(r"(?:row|right)[ -]stochastic"), row_stochastic),
    Property("orthonormal columns", _words(r"(?:ortho|mutually ortho)normal columns"), orthonormal_columns),
    Property("an orthonormal basis", _words(r"(?:an )?orthonormal bas[ie]s"), orthonormal_basis),
    Property("orthonormal rows", _words(r"orthonormal rows"), orthonormal_rows),
    Property("orthonormal", _words(r"(?:pairwise |mutually )?orthonormal"), orthonormal),
    Property("orthogonal projection", _words(
        r"(?:an )?orthogonal (?:projections?|projectors?)(?: matrix| matrices)?"
        r"(?: onto (?:an?|some|its|the) (?:linear )?(?:subspace|range|image|column space)(?! (?:of|spanned)))?"),
             squares(("A A = A", ""), (r"A^\top = A", ""))),
    Property("orthogonal to each other", _words(
        r"(?:pairwise |mutually )(?:orthogonal|perpendicular)(?: to (?:each other|one another))?|"
        r"(?:orthogonal|perpendicular) to (?:each other|one another)"), orthogonal_to_each_other),
    Property("orthogonal", _words(r"orthogonal|perpendicular|unitary"), orthogonal),
    Property("unit", _words(_NORM_ONE), unit),
    Property("distinct", _words(
        r"(?:pairwise |mutually |all )?(?:distinct|different|unequal|not equal)(?! (?:from|to) (?:0|zero))"
        r"(?: (?:from|to) each other)?"), distinct),
    Property("positive semidefinite", _words(
        r"(?:symmetric,? (?:and )?)?(?:positive semi-?definite|PSD|non-?negative definite)|(?:a )?"
        r"covariance matri(?:x|ces)"),
             definite(False)),
    Property("positive definite", _words(r"(?:symmetric,? (?:and )?)?(?:positive definite|SPD)"), definite(True)),
    Property("invertible", _words(
        r"invertible|non-?singular|(?:of |has |have )full rank|(?:has|have|having) an inverse"),
             squares((r"\det(A) \ne 0", ""))),
    Property("full column rank", _words(r"(?:of |has |have |having )full column rank"), full_column_rank),
    Property("rotation", _words(r"(?:an? )?rotation matri(?:x|ces)|an? rotation|rotations"),
             squares((r"A^\top A = I_{n}", ""), (r"\det(A) = 1", ""))),
    Property("skew-symmetric", _words(
        r"skew[ -]?symmetric|antisymmetric|anti-symmetric"), square_form(r"A^\top = -A")),
    Property("symmetric", _words(r"symmetric|self-?adjoint|hermitian"), square_form(r"A = A^\top")),
    Property("idempotent", _words(r"idempotent"), square_form("A A = A")),
    Property("multiple of the identity", _form(r"(?:a )?(?:scalar )?multiples? of the identity(?: matrix)?"),
             squares((r"A = A_{1 1} I_{n}", ""))),
    Property("identity", _form(r"(?:equal to )?the identity(?: matrix)?"), squares((r"A = I_{n}", ""))),
    Property("traceless", _words(r"traceless|(?:of|with|has|have|having) (?:trace (?:zero|0)|zero trace)"),
             squares((r"\operatorname{tr}(A) = 0", ""))),
    Property("upper triangular", _words(r"upper[ -]triangular"), zero_where(">")),
    Property("lower triangular", _words(r"lower[ -]triangular"), zero_where("<")),
    Property("diagonal", _words(r"diagonal"), zero_where(r"\ne")),
    Property("nonnegative", _words(rf"(?:entry-?wise )?(?:non-?|not )negative{_ENTRIES}?(?! (?:semi|definite))"),
             make_sign_rule(r"\ge 0")),
    Property("nonpositive", _words(rf"non-?positive{_ENTRIES}?"), make_sign_rule(r"\le 0")),
    Property("nonzero entries", _words(rf"non-?zero{_ENTRIES}"), make_sign_rule(r"\ne 0")),
    Property("nonzero", _words(r"non-?zero|do(?:es)? not vanish|non-?vanishing|(?:different from|not equal to|not|"
                               r"unequal to) (?:0|zero)"), nonzero),
    Property("binary", _words(r"binary"), binary),
    Property("0 or 1", _form(r"(?:either )?(?:0|zero) or (?:1|one)"), binary),
    Property("zero", _form(
        r"(?:equal to )?(?:0|zero)|the zero (?:vector|matrix)|a (?:vector|matrix) of zeros"), everywhere("0")),
    Property("vanishing", _words(r"(?<!not )vanish(?:es)?|equals? (?:zero|0)(?!\.\d)"), everywhere("0")),
    Property("equals one", _words(r"equals? (?:one|1)(?!\.\d)"), everywhere("1")),
    Property("one", _form(r"(?:equal to )?(?:1|one)|(?:the|an) all-ones (?:vector|matrix)|(?:a|the) (?:vector|"
                          r"matrix) of(?: all)? ones"), everywhere("1")),
    Property("equal norms", _words(r"(?:of|with|have|having) (?:equal|the same) (?:euclidean )?norms?"),
             of_one_norm),
    Property("equal", _form(r"equal(?: to each other| numbers| scalars| vectors| matrices)?|identical|the same"),
             equal),
    Property("coinciding", _words(r"coincide"), equal),
    Property("positive", _words(
        rf"(?:strictly |entry-?wise )?positive{_ENTRIES}?(?! (?:semi|definite|{_OF_A_CLASS}))"), make_sign_rule("> 0")),
    Property("negative", _words(
        rf"(?:strictly )?negative{_ENTRIES}?(?! (?:semi|definite|{_OF_A_CLASS}))"), make_sign_rule("< 0")),
)  # fmt: skip
PROPERTIES = (*_STRUCTURES, *PROPERTIES, Property("compared", _COMPARISON, made=_make_comparison))
_FILL = (
    r"be|is|are|being|to be|denotes?|an?|the|all|both|each|of|with|which|that|whose|has|have|having|it|its|they|two|"
    r"three|four|real|arbitrary|given|fixed|some|any|further|also|assumed|taken|required|supposed|chosen|known|to|"
    r"lies?|lying|forms?|constitutes?|always|entries|components|elements|columns|independent"
)
_NOUNS = (
    r"matri(?:x|ces)|vectors?|numbers?|scalars?|famil(?:y|ies)|real|reals|columns?|keys?|quer(?:y|ies)|values?|"
    r"weights?|"
    r"inputs?|scores?|variables?|constants?|parameters?|random|column|row|directions?|temperatures?|scales?|"
    r"distributions?|draws?|samples?|two|three|square"
)
# Possessive, as some words stand in both lists: each would be tried in all ways, which takes for ever in a long list.
_BEHIND = re.compile(rf"^[\s,(]*(?:(?:{_FILL}|{_NOUNS}|and|,)\b[\s,]*)*+$", re.IGNORECASE)
_BEFORE = re.compile(rf"^\s*(?:(?:{_NOUNS})\b\s*)*+$", re.IGNORECASE)
_ANEW = re.compile(r"\b(?:and|,)\s+(?:an?|the|two|some|let)\b|,\s*$|\band\s*$", re.IGNORECASE)
_GOES_ON = re.compile(
    r"(?:\b(?:be|is|are)\s+|\0)\0[\s,]*and(?: also)?\s*$"
)  # "is diagonal and": the next word is about it too


_ID_EST = re.compile(r"\bi\.\s?e\.(?=[\s,])")


def spell_id_est(text: str) -> str:
    """The words with "that is" for "i.e.", which ends no sentence."""
    return _ID_EST.sub("that is", text)


@dataclass(frozen=True)
class PropertyMention:
    """A property in some prose: which one, where it stands, and whether it is about the next formula.

    Of more than one formula if `many`, as a plural says; a `bare` one has neither article nor noun.
    """

    about: Property
    start: int
    end: int
    text: str
    ahead: bool = False
    many: bool = False
    bare: bool = False


@lru_cache(maxsize=4096)
def properties_in(text: str, follows: bool, leads: bool) -> tuple[PropertyMention, ...]:
    """The properties in the prose between two formulas, as far as their place shows what they are about.

    Example:
        >>> [(one.about.name, one.ahead) for one in properties_in(" be symmetric, and the unit vector ", True, True)]
        [('symmetric', False), ('unit', True)]
    """
    if not re.search(r"[a-z]{2}", text, re.IGNORECASE) or text.strip() == "and":
        return ()
    blank, out = text, []
    for one in PROPERTIES:
        for found in one.pattern.finditer(blank):
            if one.unless is not None and one.unless.search(text):
                break
            blank = blank[: found.start()] + "\0" * (found.end() - found.start()) + blank[found.end() :]
            about = one if one.made is None else replace(one, meaning=one.made(found))
            out.append((about, found.start(), found.end()))
    read = []
    for one, start, end in sorted(out, key=lambda item: item[1]):
        before, after = blank[:start].replace("\0", " "), blank[end:].replace("\0", " ")
        ahead = leads and bool(_BEFORE.match(after)) and not re.search(r"\b(?:be|is|are)\s*$", before)
        place = (one, start, end, text[start:end])
        if ahead:
            many = bool(re.search(r"(?:s|matrices)\s*$", text[start:]))
            bare = not many and not re.search(r"\b(?:an?|the|some|each|every|any)\b[^,;]*$", before, re.IGNORECASE)
            read.append(PropertyMention(*place, True, many, bare))
        elif (
            follows
            and keeps_property(before, after, one.name)
            and _BEHIND.match(before)
            and (_GOES_ON.search(blank[:start]) or not _ANEW.search(before))
            and not re.search(r"[.;]\s", before)
        ):
            read.append(PropertyMention(*place))
    return tuple(read)


_IID = re.compile(
    r"\b(?:i\.\s?i\.\s?d\.?|iid|(?:mutually |jointly )?independent(?:ly)?(?: and|,) identically(?: "
    r"distributed)?)(?![\w-])",
    re.IGNORECASE,
)
_FREE_AND = re.compile(r"\bindependent(?:ly)?,? and(?= (?:standard|normal|gaussian))", re.IGNORECASE)


@lru_cache(maxsize=KEPT_SENTENCES)
def plain_words(text: str) -> str:
    """The words with "i.i.d." and "independent and" as one word that stands before what follows."""
    return _FREE_AND.sub("independent", _IID.sub("independent", spell_id_est(text)))


def without_properties(parts: list[str]) -> list[str]:
    """The parts of a paragraph without the properties in its prose, which no rule for other words has to know."""
    out = list(parts)
    for place in range(0, len(parts), 2):
        text = plain_words(parts[place])
        for one in properties_in(text, follows=bool(place), leads=place + 1 < len(parts)):
            text = text[: one.start] + " " * (one.end - one.start) + text[one.end :]
        out[place] = text
    return out

r"""Sentences that were not read and may make good what a slip changes.

Where another index, exponent, transpose or end of a sum makes a false step an identity, the step holds as it stands if
entries are alike, or 0, or 1, or a matrix is its transpose. What says so is an equation of its symbols, or a word that
restricts. It is not

* an inequality of numbers: analytic sides that are equal where $a < b$ are equal everywhere;
* an equation that defines a symbol which stands nowhere else: any values of the others agree with $\ell = \sum_i y_i$;
* a list of the entries of a symbol, as in $w = (w_1; \dots; w_d)$;
* the name of a law, in a step that averages nothing: a normal variable may have any value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

from attention_core.derivation.claims import claim_of
from attention_core.derivation.decision.conventions import collect_symbols
from attention_core.derivation.latex.printer import all_names, symbol_name
from attention_core.derivation.latex.syntax import Chain, Expr, Group, Name, Sub, Times, Unreadable, children
from attention_core.derivation.quick_patterns import compile_quick
from attention_core.derivation.reading.step import Step
from attention_core.derivation.terms.context import Caveat
from attention_core.derivation.terms.terms import ShapeMismatch, Term
from attention_core.derivation.words.caveats import chains_of
from attention_core.derivation.words.vocabulary import NOUN, PROPERTY

_RELATION = re.compile(
    r"[=<>]|\\(?:[lg]eq?(?:slant|q)?|neq?|in|to|equiv|approx|sim|propto|perp|parallel|su[bp]set(?:eq)?)(?![a-zA-Z])"
)
_MAKES_ALIKE = compile_quick(
    r"\b(?:scalars?|single|only|one|unit\w*|norm\w*|indicators?|bits?|mask\w*|periodic\w*|cycl\w*|circular\w*|wrap\w*|"
    r"pad\w*|tied|ties|repeat\w*|cop(?:y|ies)|duplicat\w*|same|degenerat\w*|special|trivial\w*|simpl\w*|self-?adjoint|"
    r"covarianc\w*|gram|kernels?|hessians?|laplacian\w*|undirected|adjacency|project\w*|involut\w*|idempoten\w*|"
    r"homogen\w*|stationary|isotrop\w*|without loss|wlog|unless|except|agrees?|alike|"
    r"coincid\w*|match(?:es|ing)?|first|last|initial\w*|final\w*|starts?|starting|begin\w*|ends?|ending|empty)\b",
    re.IGNORECASE,
)
_LEAVES_OUT = compile_quick(
    r"\b(?:no|nothing|none|nobody|without|lack(?:s|ing)?|missing|absent|fixed|clamped|grounded|(?:compact|finite) "
    r"support|supported (?:on|in)|closed|isolated|balances?|(?:do|does) not)\b",
    re.IGNORECASE,
)
"""Words by which some entry may be 0: "The youngest gets nothing."."""
_ASSUMES = compile_quick(r"\b(?:suppos\w*|assum\w*|restrict\w*)\b", re.IGNORECASE)
_LAW = re.compile(
    r"\b(?:multivariate|univariate|bivariate|standard|joint(?:ly)?|conditional(?:ly)?)? ?"
    r"(?:gaussians?|normal(?= (?:distribut|laws?\b|priors?\b|noise|densit|likelihood|mixture|random|variable))|"
    r"normally(?= distributed)|(?:identically|uniformly)(?= (?:distributed|at random|drawn|sampled))|i\.?i\.?d\.?|"
    r"independent(?:ly)?|uncorrelated|random(?:ly)?|probability distributions?)(?![\w-])",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"(?<![\w-])(?:differentiable|continuous|smooth|lipschitz|(?:strictly )?(?:convex|concave|positive|negative)|"
    r"convexity|concavity|non-?negative|non-?positive|non-?zero|distinct|invertible|non-?singular|bounded|"
    r"full(?: column| row)?[ -]rank)"
    r"(?![\w-]| (?:semi-?)?definite)",
    re.IGNORECASE,
)
_DENIES = re.compile(r"\b(?:not|no|nor|neither|never|nowhere|non)\b", re.IGNORECASE)
_IDIOM = re.compile(
    r"\bfirst[ -](?:principles?|order)\b|\bcomplet\w+ the squares?\b|"
    r"\bfinal(?:ly)?(?= (?:result|form|format|formula|answer)\b)|"
    r"\bone (?=(?:has|gets?|obtains?|finds?|sees?|can|could|may|might|must|would)\b)|"
    r"\bgradient (?:de|as)scent\b|"
    r"\bsuppose(?: that)? (?=(?:we|you|one) (?:have|has|are given|observes?|wants?|draws?|collect)\b)",
    re.IGNORECASE,
)
_NO_KIND = frozenset(["not", "only", "also", "if", "iff", "then"])
_ANALYTIC = frozenset(
    """
    int const leaf member size index add neg mul div matmul hadamard transpose entry exp log sum reduce prod bind
    variable pi ones zeros eye softmax sigmoid tanh lse deriv
    """.split()  # noqa: SIM905
)
_ORDERS = frozenset(["<", "<=", ">", ">="])
_DEFINES = frozenset(["=", ":=", "equiv", "in"])
_RANGE = re.compile(r"(?<![a-zA-Z\\])[a-z]\s*=\s*[01]\s*,(?:\s*[12]\s*,)?\s*(?:\\[lc]?dots|\.{2,3})\s*,\s*\w+")
_MAPS = re.compile(r"^[^:=<>]*(?::|\\colon)[^:=<>]*\\(?:to|rightarrow)\s*\\math[^:=<>]*$")
_STYLE = re.compile(r"\\(?:mathbf|boldsymbol|bm|vec|left|right|mathrm|operatorname)(?![a-zA-Z])|[{}\s]")
_BETWEEN = re.compile(r"(?<=[)\]])\s*,")
_ENTRIES = re.compile(
    r"(\\?[a-zA-Z]+)=[\\(\[]*\1_1[,;&\\]+(?:\1_2[,;&\\]+)?(?:\1_3[,;&\\]+)?(?:\\[lcdv]?dots|\.{2,3})[,;&\\]+\1_[a-zA-Z][\\)\]]*"
    r"(?:\^(?:T|\\top|\\intercal))?[.,]?$"
)


def may_make_good(step: Step, caveat: Caveat) -> bool:
    """Whether a sentence that was not read may say that entries are alike, or 0, or 1, or a matrix its transpose.

    Args:
        step: A false step that another index, exponent, transpose or end of a sum makes an identity.
        caveat: What was not read.
    """
    quotes = [words.quote for words in step.far_words if words.line == caveat.line]
    parts = re.split(r"(?<!\\)\$", " ".join((caveat.quote, *quotes)))
    names = sorted(collect_symbols(step))
    formulas = [one for one in parts[1::2] if _RELATION.search(one) and _names_one(one, names)]
    if any(_may_restrict(step, one, caveat.line) for one in (*formulas, caveat.formula) if one):
        return True
    prose = _without_harmless(step, " ".join(parts[::2]))
    if (
        _LEAVES_OUT.search(prose)
        or PROPERTY.search(prose)
        or _MAKES_ALIKE.search(prose)
        or (_ASSUMES.search(prose) and NOUN.search(prose))
    ):
        return True
    named = caveat.names is not None or any(_names_one(one, names) for one in parts[1::2])
    return named and any(_describes(word, prose) for word in caveat.words if word.lower() not in _NO_KIND)


def _without_harmless(step: Step, prose: str) -> str:
    """Prose without the names of laws and of open conditions, where these can make no entries alike."""
    terms = _terms(step)
    prose = _IDIOM.sub(" ", prose)
    if terms and all(one.op != "expect" for one in terms):
        prose = _LAW.sub(" ", prose)
    return _OPEN.sub(" ", prose) if _is_analytic(terms) and not _DENIES.search(prose) else prose


def _terms(step: Step) -> list[Term]:
    """All terms of a step, none where its shapes do not fit."""
    try:
        claim = claim_of(step)[1]
    except ShapeMismatch:
        return []
    return [one for side in (claim.left, claim.right) for one in side.walk()]


def _is_analytic(terms: Sequence[Term]) -> bool:
    """Whether no absolute value, root, maximum or the like stands in a step."""
    return bool(terms) and all(one.op in _ANALYTIC or _is_whole_power(one) for one in terms)


def _is_whole_power(term: Term) -> bool:
    return term.op == "pow" and term.args[1].op == "const" and Fraction(term.args[1].data).denominator == 1


def _may_restrict(step: Step, formula: str, line: int) -> bool:
    """Whether a relation may say that entries of a step's symbols are alike, or 0, or 1.

    Neither a list of entries, nor the range of an index, nor a function's domain does.
    """
    written = formula
    parts = [part for part in _BETWEEN.split(formula) if not _ENTRIES.match(_STYLE.sub("", part))]
    formula = _RANGE.sub(" ", ", ".join(parts))
    if not _RELATION.search(formula) or _MAPS.match(formula):
        return False
    head, _, behind = formula.partition(r"\in ")
    if behind and not _RELATION.search(behind) and re.fullmatch(r"\s*\\?[a-zA-Z]+\s*", head):
        return head.strip() in collect_symbols(step)
    try:
        chains = chains_of(formula, line)
    except (Unreadable, RecursionError, ValueError):
        return True
    return any(_chain_may_restrict(step, one, written) for one in chains)


def _chain_may_restrict(step: Step, chain: Chain, formula: str) -> bool:
    known, own = step.context.symbols, set(collect_symbols(step))
    names = {name for side in chain.exprs for name in _names_outside_subscripts(side)} & own
    if not names:
        return False
    if set(chain.ops) <= _ORDERS:
        counts = any(known[name].kind not in ("array", "family") for name in names if name in known)
        return counts or not _is_analytic(_terms(step))
    if len(chain.ops) != 1 or chain.ops[0] not in _DEFINES:
        return True
    pairs = [chain.exprs] if chain.ops[0] == "in" else [chain.exprs, chain.exprs[::-1]]
    said = {one.formula.strip() for one in step.far_relations if one.formula.strip() != formula.strip()}
    elsewhere = own | {name for name, symbol in known.items() if name not in step.context.inferred or symbol.term}
    for side, other in pairs:
        heads = _heads(side)
        again = any(_names_one(one, sorted(heads)) for one in said)
        if heads and not again and not heads & elsewhere and not heads & set(all_names(other)):
            return False
    return True


def _names_outside_subscripts(node: object) -> Iterator[str]:
    """The symbols of a formula, and not the indices in its subscripts."""
    if isinstance(node, Sub):
        yield from (name for name in (symbol_name(node), symbol_name(node.base)) if name)
    elif isinstance(node, Name):
        yield symbol_name(node) or ""
    for one in children(node) if not isinstance(node, Sub) else ():
        yield from _names_outside_subscripts(one)


def _heads(side: Expr) -> set[str]:
    """The names of the symbol that a side is, is an entry of, or is a value of; none of any other formula."""
    if isinstance(side, Times) and len(side.factors) == 2 and isinstance(side.factors[1], Group):
        side = side.factors[0]
    found = [side, side.base] if isinstance(side, Sub) else [side]
    return {name for one in found if isinstance(one, Name | Sub) and (name := symbol_name(one))}


def _describes(word: str, prose: str) -> bool:
    """Whether a word says of which kind something is: "a frobnicated matrix", "they are frobnicated"."""
    one = re.escape(word)
    before = re.search(rf"\b{one}\W+(?=(?:\w+\W+)?{NOUN.pattern})", prose, re.IGNORECASE)
    return bool(before or re.search(rf"\b(?:is|are|be|being)[^\w.;:]+(?:\w+ly\W+)?{one}\b", prose, re.IGNORECASE))


def _names_one(formula: str, names: Sequence[str]) -> bool:
    """Whether a formula mentions one of some symbols."""
    return any(re.search(rf"(?<![a-zA-Z\\]){re.escape(name)}(?![a-zA-Z])", formula) for name in names)


__all__ = ["may_make_good"]

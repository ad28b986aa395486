r"""Sentences that were not read and may make good what a slip changes.

Where another index, exponent, transpose or end of a sum makes a false step an identity, the step holds as it stands if
entries are alike, or 0, or 1, or a matrix is its transpose. What says so is an equation of its symbols, or a word that
restricts. It is not

* an inequality of numbers: analytic sides that are equal where $a < b$ are equal everywhere;
* an equation that defines a symbol which stands nowhere else: any values of the others agree with $\ell = \sum_i y_i$;
* a list of the entries of a symbol, as in $w = (w_1; \dots; w_d)$;
* the name of a law, in a step that averages nothing: a normal variable may have any value;
* an equation that a new symbol solves, whatever the others are: $0 = w \sum_i x_i^2 - \sum_i y_i x_i$ determines w;
* a relation, or words of a kind whose formulas are known, under which the step was found false as well (`tried_kinds`);
* a sentence of a later section that names none of the step's symbols, and does not point back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from attention_core.derivation.claims import claim_of
from attention_core.derivation.decision.conventions import collect_symbols
from attention_core.derivation.decision.new_values import is_update
from attention_core.derivation.decision.other_meanings import FOLLOWS
from attention_core.derivation.decision.tried_kinds import find_harmless_words
from attention_core.derivation.decision.usual import verdict_under
from attention_core.derivation.decision.words_below import ABOUT_ALL, is_of_later_section
from attention_core.derivation.latex.printer import all_names, symbol_name
from attention_core.derivation.latex.syntax import (
    Chain,
    Expr,
    Group,
    Minus,
    Name,
    Plus,
    Sub,
    Times,
    Unreadable,
    children,
)
from attention_core.derivation.quick_patterns import QuickPattern, compile_quick
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import Finding, Verdict
from attention_core.derivation.terms.context import Caveat
from attention_core.derivation.terms.terms import Relation, ShapeMismatch, Term
from attention_core.derivation.words.caveats import chains_of
from attention_core.derivation.words.vocabulary import DEGREE, NOUN, PROPERTY

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
_OF_ALIKE = compile_quick(
    r"\b(?:alike|same|sameness|equals?|equally|equality|equal-\w+|equi\w+|identical(?:ly)?|constants?|shar(?:ed?|ing)|"
    r"common|tied|uniform(?:ly|ity)?|balanced|cop(?:ies|y)|repeat\w*|duplicat\w*|periodic\w*|cycl\w*|circular\w*|"
    r"stationar\w+|homogene\w*|isotrop\w*|homoscedastic\w*|iid|exchangeab\w*|interchangeab\w*|indistinguishab\w*|"
    r"degenerate|trivial(?:ly)?|special|first|single|one|only|zeros?|ones|vanish\w*|coincid\w*|agrees?|differs?|"
    r"distinguish\w*|depends?|independent(?:ly)?|symmetr\w+|without loss|wlog|fixed|everywhere|each|everybody|"
    r"everyone|invarian\w+|vary|varies|varying|variation|no (?:schedules?|variance)|(?:not|never|nothing) change[sd]?|"
    r"unchang\w+|frozen|static|steady|flat|replica\w*|clones?|broadcast\w*|consensus|unanim\w+|converged|"
    r"collapse[sd]?|synchron\w+|lockstep|aligned|mass-produced|regular)\b",
    re.IGNORECASE,
)
"""Words by which all entries of a symbol may be alike, or one of them is meant."""
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
_METHODS = r"(?:methods?|methodolog\w+|notation|arguments?|reasoning|techniques?|tricks?|shapes?|dimensions?)\b"
_IDIOM = compile_quick(
    r"\bfirst[ -](?:principles?|order)\b|\bcomplet\w+ the squares?\b|"
    r"\bfinal(?:ly)?(?= (?:result|form|format|formula|answer)\b)|"
    r"\bone (?=(?:has|gets?|obtains?|finds?|sees?|can|could|may|might|must|would|more|approach|way|reason)\b)|"
    r"\bbegin (?=by\b|with\b)|\bfinal (?=\w+ expressions?\b)|\binvariant (?=to\b|under\b)|"
    r"\b(?:convex|concave|convexity|concavity)\b|"
    r"\bgradient (?:de|as)scent\b|\bfinite[ -]differences?\b|\bvanishing gradients?\b|"
    r"\b(?:the|an|this|following) integrals?\b|"
    r"\bsuppose(?: that)? (?=(?:we|you|one) (?:have|has|are given|observes?|wants?|draws?|collect)\b)|"
    r"\beven (?=(?:more|when|if|though|after|better|so|simpler)\b)|(?:^|, )even (?=(?:in|for|with|within)\b)|"
    r"\bnatural (?=(?:impulse|order(?:ing)?s?|way|choice|question|language|extension|interpretation|idea|to)\b)|"
    r"\b(?:more than one|on (?:the )?one hand|one's|one of the most)\b|\bone (?=(?:popular|common)\b)|"
    r"\bonly (?=(?:able|wonder|problem|reason|way|briefly|recently)\b)|"
    rf"\b(?:in|using|by|with|of|has|have) the (?:very |exact )?same (?={_METHODS})|\bthe very same (?=methods?\b)|"
    r"\bsimple (?=(?:ways?|methods?|examples?|calculations?|derivations?|algebra|tricks?)\b)|"
    r"\bsimply\b|\bsimplif(?:y|ies|ied|ying)\b|^\W*first(?:ly)?(?=,| we\b| let\b| note\b)|"
    r"\bdo(?:es)? not (?=(?:have to|worry|forget|confuse)\b)|"
    r"\ba (?:little )?bit (?=(?:better|more|further|about|harder|simpler|closer)\b)|\bno(?:t a)? coincidence\b",
    re.IGNORECASE,
)
"""Words that restrict elsewhere, in phrases that do not."""
_COMMANDS = re.compile(r"\\(?:begin|end)\s*\{[^{}]*\}|\\[a-zA-Z]+")
_NO_KIND = frozenset(["not", "no", "only", "also", "if", "iff", "then", "for", "th", "nd", "rd", "st"])
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


@dataclass
class Trial:
    """What was tried of a false step: relations that stand around it, and the kinds of words that are harmless.

    Args:
        step: A false step that another index, exponent, transpose or end of a sum makes an identity.
        decide: Decides a step under some more hypotheses.
    """

    step: Step
    decide: Callable[[Step, Sequence[Relation]], Finding]
    verdicts: dict[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.harmless: list[QuickPattern] = find_harmless_words(self.step, self.decide)

    def is_false_under(self, formula: str) -> bool:
        """Whether the step is false under a relation."""
        if formula not in self.verdicts and len(self.verdicts) < MOST:
            self.verdicts[formula] = verdict_under(self.step, formula, self.decide) is Verdict.REFUTED
        return self.verdicts.get(formula, False)

    def are_false_together(self) -> bool:
        """Whether the step is false under all relations at once under each of which it is."""
        alone = [formula for formula, false in self.verdicts.items() if false]
        return len(alone) < 2 or verdict_under(self.step, ", ".join(alone), self.decide) in _FALSE


NEAR = 6  # lines around a step whose words may be about it
MOST = 24  # relations that are tried of one step
_FALSE = (Verdict.REFUTED, Verdict.VACUOUS)


def may_make_good(step: Step, caveat: Caveat, trial: Trial) -> bool:
    """Whether a sentence that was not read may say that entries are alike, or 0, or 1, or a matrix its transpose.

    Args:
        step: A false step that another index, exponent, transpose or end of a sum makes an identity.
        caveat: What was not read.
        trial: What was tried of the step.
    """
    quote = _whole_quote(step, caveat)
    parts = re.split(r"(?<!\\)\$", quote)
    names = sorted(collect_symbols(step))
    related = [one for one in parts[1::2] if _RELATION.search(one) and not is_update(one, quote)]
    formulas = [one for one in related if _names_one(one, names)]
    restricting = [one for one in (*formulas, caveat.formula) if one and _may_restrict(step, one, caveat.line)]
    if not all(trial.is_false_under(one) for one in restricting):
        return True
    named = caveat.names is not None or any(_names_one(one, names) for one in parts[1::2])
    if not named and not restricting and is_of_later_section(step, caveat):
        return False
    prose = _without_harmless(step, " ".join(parts[::2]))
    for pattern in [] if _DENIES.search(prose) else trial.harmless:
        prose = pattern.sub(" ", prose)
    if any(pattern.search(prose) for pattern in (_LEAVES_OUT, PROPERTY, DEGREE, _MAKES_ALIKE)):
        return True
    if _ASSUMES.search(prose) and NOUN.search(prose):
        return True
    return named and any(_describes(word, prose) for word in caveat.words if word.lower() not in _NO_KIND)


def may_be_alike(step: Step, caveat: Caveat, symbol: str, trial: Trial) -> bool:
    """Whether a sentence that was not read may say that all entries of a symbol are alike.

    A relation does if it mentions the symbol and the step was not found false under it; words do if they name the
    symbol, or stand near the step and name no other one of it, or are about all that follows, as in a section that is
    called "Setting". So does a sentence that names the entry itself ("All beads have mass $w_1$.").

    Args:
        step: A false step that has a fixed index at the symbol where one that runs makes it an identity.
        caveat: What was not read.
        symbol: The symbol.
        trial: What was tried of the step.
    """
    quote = _whole_quote(step, caveat)
    parts = re.split(r"(?<!\\)\$", quote)
    formulas = [one for one in (*parts[1::2], caveat.formula) if one]
    named = [one for one in formulas if _names_one(one, [symbol])]
    relations = [one for one in named if _RELATION.search(one) and _may_restrict(step, one, caveat.line)]
    entry = rf"{re.escape(symbol)}\s*_\s*(?:\w|\{{[^{{}}]*\}})"
    if any(re.search(rf"{entry}\s*=.*{entry}", one) for one in relations):
        return True  # two entries are one number, and so may be all
    if not all(trial.is_false_under(one) for one in relations):
        return True
    if any(re.fullmatch(entry, one.strip()) for one in named):
        return True
    others = sorted(collect_symbols(step) - {symbol})
    near = abs(caveat.line - step.line) <= NEAR and not any(_names_one(one, others) for one in formulas)
    about = named or near or symbol in (caveat.names or ()) or FOLLOWS.search(quote) or _is_of_setting(step, caveat)
    return bool(about and _OF_ALIKE.search(_IDIOM.sub(" ", _COMMANDS.sub(" ", " ".join(parts[::2])))))


def _whole_quote(step: Step, caveat: Caveat) -> str:
    """The sentence of a caveat, which quotes only how it starts, without its other sentences in the paragraph."""
    start = caveat.quote.removesuffix(" ...")
    whole = (words.quote for words in step.far_words if words.line == caveat.line and words.quote.startswith(start))
    return next(whole, caveat.quote)


def _is_of_setting(step: Step, caveat: Caveat) -> bool:
    """Whether a sentence stands in a section of assumptions, conventions or the like."""
    titles = (one for one in step.far_words if one.title and one.line <= caveat.line < one.until)
    return any(ABOUT_ALL.search(one.words) for one in titles)


def _without_harmless(step: Step, prose: str) -> str:
    """Prose without the names of laws and of open conditions, where these can make no entries alike."""
    terms = _terms(step)
    prose = _IDIOM.sub(" ", _COMMANDS.sub(" ", prose))
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
    formula = _without_laws(step, formula)
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


_LAWS = re.compile(
    r"(?:\\mathbb\s*\{P\}|\\Pr|\\mathcal\s*\{N\}|(?<![a-zA-Z\\])[pPq])(?:_\{?\\?\w+\}?)?\s*(?:\\left\s*)?(?=[(\[])"
)


def _without_laws(step: Step, formula: str) -> str:
    """A relation without the values of laws that the step does not mention: `p(x | y) p(y)` leaves x and y free."""
    if {"p", "P", "q"} & set(collect_symbols(step)):
        return formula
    while found := _LAWS.search(formula):
        depth = 0
        for end in range(found.end(), len(formula)):
            depth += (formula[end] in "([") - (formula[end] in ")]")
            if not depth:
                break
        formula = f"{formula[: found.start()]} P {formula[end + 1 :]}"
    return formula


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
    new = set(_linear_symbols(chain)) - elsewhere
    return not any(not any(_names_one(one, [name]) for one in said) for name in new)


_PLAIN = frozenset(["", "."])


def _linear_symbols(chain: Chain) -> Iterator[str]:
    """The symbols that stand in one term of an equation alone, as a factor: it can be solved for each of them."""
    terms = [term for side in chain.exprs for term in (side.terms if isinstance(side, Plus) else (side,))]
    bodies = [term.body if isinstance(term, Minus) else term for term in terms]
    for body in bodies:
        factors = body.factors if isinstance(body, Times) and set(body.ops) <= _PLAIN else (body,)
        for factor in factors:
            name = symbol_name(factor) if isinstance(factor, Name) else None
            if (
                name
                and sum(name in all_names(one) for one in bodies) == 1
                and sum(name in all_names(one) for one in factors) == 1
            ):
                yield name


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


__all__ = ["Trial", "may_be_alike", "may_make_good"]

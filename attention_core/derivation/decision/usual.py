r"""The usual hypotheses, tried on a false step where a document mentions one of them anywhere in words.

"The vectors of the next section are orthogonal.", a title such as "Softmax over a single key" and a comment "% unit
vectors" are far from the step, or name no symbol: which steps they are about is open. What they say is of a few
kinds, though. So each kind that some words mention is written for the symbols of the step, as its author would. If the
step holds under it, that may be what was meant, and the step is UNDECIDED; if not, it stays refuted. So it is with
relations that the prose states in other sections, before their symbols are declared, or in tables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, zip_longest

from attention_core.derivation.claims import claim_of
from attention_core.derivation.decision.conventions import collect_symbols
from attention_core.derivation.decision.new_values import is_update
from attention_core.derivation.decision.usual_formulas import (
    Subject,
    write_commuting,
    write_diagonal,
    write_fit,
    write_identity,
    write_inverse,
    write_negative,
    write_of_each,
    write_orthogonal,
    write_positive,
    write_same,
    write_scalar,
    write_single,
    write_softmax,
    write_square,
    write_two_values,
    write_unit,
    write_weights,
    write_zero_mean,
    write_zero_sums,
)
from attention_core.derivation.decision.vanishing import double_right
from attention_core.derivation.document.blocks import Option
from attention_core.derivation.elaborate.expressions import Elaborator
from attention_core.derivation.elaborate.hypotheses import relations_of, typed_relation
from attention_core.derivation.graph.nodes import Unsettled
from attention_core.derivation.latex.lexer import tokenize
from attention_core.derivation.latex.printer import all_names, symbol_name, to_latex
from attention_core.derivation.latex.syntax import Chain, Minus, Name, Sub, Unreadable
from attention_core.derivation.reading.domains import domain_of
from attention_core.derivation.reading.spelled_phrases import is_order
from attention_core.derivation.reading.step import FarRelation, FarWords, Step, is_set
from attention_core.derivation.records import GOOD, Finding, Verdict
from attention_core.derivation.terms.context import Context, Symbol
from attention_core.derivation.terms.terms import Relation, ShapeMismatch
from attention_core.derivation.words.caveats import chains_of, declared_names, shorten_quote

MAX_TRIED = 36  # guesses about one step
MAX_STATED = 12  # relations of the prose that are tried
MAX_NEAR = 40  # ... of a section with a promise; with more of them the step is UNDECIDED
VAGUE = (">>", "<<", "~")  # relations that no case satisfies exactly
_OF_ONE = (write_single, write_scalar)
_WHERE_MENTIONED = (*_OF_ONE, write_same, write_negative, write_two_values)


def _pattern(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![^\W\d_])(?:{words})", re.IGNORECASE)


@dataclass(frozen=True)
class Usual:
    """A kind of hypothesis: the words that mention it, and its formulas, each text with those that go together.

    `titles` are words that mention it in a title alone: "A token" is one token there. Of a step that has one of the
    operations in `made_by` the words say nothing more: "Softmax" above a step with a softmax.
    """

    words: re.Pattern[str]
    write: Callable[[Subject], Iterator[str]]
    titles: re.Pattern[str] | None = None
    made_by: frozenset[str] = frozenset()

    def is_mentioned(self, phrase: FarWords) -> bool:
        """Whether some words mention it."""
        if self.words.search(phrase.words):
            return True
        return phrase.title and self.titles is not None and bool(self.titles.search(phrase.words))


_ONE_OF_MANY = r"(?:token|key|logit|head)\b"
USUAL = (
    Usual(
        _pattern(
            r"orthogon(?!al proj)|orthonorm|perpendic|right[ -](?:angle|triangle)|pythagor|hypotenuse|legs\b|"
            r"rotat|reflect|"
            r"permut|unitar|isometr|rigid|rope\b|rotary|change of basis|qr\b|singular vectors?|svd\b|householder|"
            r"givens|[\u22a5\u27c2\u221f]|90 ?(?:\u00b0|degrees)"
        ),
        write_orthogonal,
    ),
    Usual(
        _pattern(
            r"unit\b|normali[sz]|(?:norm|length)s? (?:is |are |of )?(?:1|one)\b|(?:hyper)?sphere|unit circle|"
            r"directions?\b|cosine|qk norm|divid\w+ by (?:the|its|their|both) (?:norms?|lengths?)"
        ),
        write_unit,
    ),
    Usual(
        _pattern(
            r"(?<!skew[ -])(?<!anti)(?<!anti[ -])symmetr|covarian|gram\b|kernel|hessian|(?:self )?adjoint|hermit|"
            r"laplac|correlation|transposes?\b"
        ),
        write_of_each(r"A = A^\top"),
    ),
    Usual(_pattern(r"(?:skew|anti ?)symmetr|skew\b"), write_of_each(r"A = -A^\top")),
    Usual(_pattern(r"project|idempoten"), write_of_each("A A = A")),
    Usual(_pattern(r"off[ -]diagonal|(?<!on the )(?<!on its )(?<!main )diagonal(?! (?:entr|elem))"), write_diagonal),
    Usual(
        _pattern(r"commut|simultaneous|order (?:of .*)?does not matter|interchang|reorder|exchang\w+ the"),
        write_commuting,
        _pattern(r"numbers?\b|scalars?\b"),
    ),
    Usual(_pattern(r"invers|invert|undo(?:es)?\b"), write_inverse),
    Usual(
        _pattern(
            r"same\b|equal(?:ity)?\b|identical|coincid|cop(?:y|ies)\b|itself\b|self[ -]|tied\b|shared?\b|agree\b|"
            r"(?:twice|only) (?:the|one)\b|two names|"
            r"the ((?:\w+ )?\w+[^s\W])\b.*\bthe \1\b(?!s)|are the (?:\w+ )?\w+[^s\W]$"  # one role of two symbols
        ),
        write_same,
        _pattern(r"(\w+),? and (?:the |a )?\1\b|(?:an?|the) \w+(?:,| and) (?:its|the) \w+|transpose"),
    ),
    Usual(
        _pattern(
            r"positiv|(?:non[ -]?)?negativ|absolute|lengths?\b|signs?\b|magnitude|counts?\b|temperature|variance|am gm|"
            r"arithmetic mean|geometric mean|logarithm|entrop|norms?\b|loss(?:es)?\b|squares?\b|squared\b|distances?\b|"
            r"errors?\b|costs?\b|widths?\b|depths?\b|sizes?\b|dimensions?\b|roots?\b|exponential"
        ),
        write_positive,
    ),
    Usual(
        _pattern(
            r"probab|distribut|weights?\b|stochastic|simplex|sum(?:s|ming)? (?:to|up)|histogram|convex combination|"
            r"markov|their sums?\b|normali[sz]|entrop|divergence|likelihood|kullback|gibbs|jensen|average"
        ),
        write_weights,
    ),
    Usual(_pattern(r"(?<!non)(?<!non[ -])negativ"), write_negative),
    Usual(
        _pattern(r"binary|boolean|bernoulli|indicator|bits?\b|labels?\b|signs?\b|spins?\b|rademacher|plus or minus"),
        write_two_values,
    ),
    Usual(_pattern(r"attention|softmax"), write_weights, made_by=frozenset({"softmax", "exp", "lse"})),
    Usual(_pattern(r"cent(?:er|re)|mean (?:is )?zero|zero mean|layer ?norm|deviations?\b|varianc"), write_zero_mean),
    Usual(_pattern(r"cent(?:ered|red)\b|mean (?:is )?zero|zero mean"), write_zero_sums),
    Usual(_pattern(r"least squares|regression|fitted|pseudo ?inverse|residual|normal equation"), write_fit),
    Usual(_pattern(r"identit"), write_identity),
    Usual(_pattern(r"square\b(?! root)|same (?:size|width|length|dimension)"), write_square),
    Usual(_pattern(r"softmax|attention weights"), write_softmax, made_by=frozenset({"softmax", "exp", "lse"})),
    Usual(
        _pattern(rf"single|(?:one|only) {_ONE_OF_MANY}"),
        write_single,
        _pattern(rf"(?:an?|the|first|last|second|one) {_ONE_OF_MANY}|to itself"),
    ),
    Usual(_pattern(r"scalar|numbers?\b(?! of)"), write_scalar),
)


@dataclass(frozen=True)
class Meant:
    """A hypothesis under which a step holds, and the words that may mean it, or the relation that says it."""

    formula: str
    phrase: FarWords
    stated: bool = False
    doubtful: bool = False  # it counts even if the step cannot be decided under it
    found: str = "holds"  # or "may hold"


def meant_by_words(
    step: Step, decide: Callable[[Step, Sequence[Relation]], Finding], slip: bool = False
) -> Meant | None:
    """What a false step holds under and its document mentions: a relation, or a usual hypothesis; None if nothing.

    Where all hypotheses are promised to be declared as formulas, words are none, but a relation is one wherever it
    stands in the prose around the step, in its row, its tag or the words of its display; one that could not be read
    may be one as well.

    Args:
        step: A step that was found false.
        decide: Decides a step under some more hypotheses.
        slip: Whether one change makes it an identity: that it holds at sizes of one says nothing then.
    """
    promised = step.context.formal is not None
    stated = _list_relations(step) if promised else islice(_list_relations(step), MAX_STATED)
    guesses = iter(()) if promised else islice(_guesses(step, slip), MAX_TRIED)
    for place, one in enumerate(chain(stated, guesses)):
        late = one.doubtful and place >= MAX_NEAR
        verdict = Verdict.UNDECIDED if late else verdict_under(step, one.formula, decide)
        if verdict in GOOD and not (slip and verdict_under(double_right(step), one.formula, decide) in GOOD):
            return one  # of a slip, one by which both sides vanish is not meant
        if verdict is Verdict.UNDECIDED and one.doubtful:
            return replace(one, found="may hold")
    return None


def find_claim_beside(step: Step, decide: Callable[[Step, Sequence[Relation]], Finding]) -> str:
    """The claim in the row of a false step that is false and holds under it: the step may be its condition.

    Args:
        step: A step that was found false.
        decide: Decides a step under some more hypotheses.

    Returns:
        The claim, '' if there is none.
    """
    if step.chained or step.assumed or not _is_like_condition(step):
        return ""
    for one in (each for each in step.companions if each.line == step.line):
        try:
            if decide(one, ()).verdict not in GOOD and verdict_under(one, _relation_of(step), decide) in GOOD:
                return one.text
        except (Unreadable, ShapeMismatch, RecursionError, Unsettled):
            continue
    return ""


def _relation_of(step: Step) -> str:
    return to_latex(Chain((step.left, step.right), (step.op,)))


def _is_like_condition(step: Step) -> bool:
    """Whether a relation looks like a condition: a side is constant, or both are symbols."""
    known = step.context.symbols
    names = [all_names(side) & set(known) for side in (step.left, step.right)]
    constant = any(all(known[name].kind == "size" for name in some) for some in names)
    return constant or all(isinstance(side, Name | Sub | Minus) for side in (step.left, step.right))


def _list_relations(step: Step) -> Iterator[Meant]:
    """The relations that stand beside a step or in the prose of its document: each alone, then all."""
    names = collect_symbols(step)
    of_step = (f"{to_latex(step.left)}", f"{to_latex(step.right)}")
    claims = [
        FarRelation(one.line, one.text, _relation_of(one))
        for one in step.companions
        if not one.chained and _is_like_condition(one)
    ]
    known = {_without_style(one.text) for one in step.context.hypotheses}  # those that were tried as well
    found: list[Meant] = []
    if step.context.formal is not None:
        claims = [one for one in claims if one.line == step.line]
    prose = step.far_relations
    if step.context.formal is not None:
        prose = sorted(prose, key=lambda one: abs(one.line - step.line))
    for one in [*step.beside, *claims, *prose]:
        stated = step.context.formal is not None or not any(one is far for far in step.far_relations)
        silent = (
            is_update(one.formula, one.quote)
            or _was_assumed(step, one)
            or fixes_what_moves(step, one.formula, one.line)
        )
        for formula in () if silent else _ways_to_mean(step, one):
            about = declared_names(step.context, formula, one.line)
            try:
                sides = {to_latex(expr) for c in chains_of(formula, one.line) for expr in c.exprs}
            except (Unreadable, RecursionError):
                sides = set()
            if about & names and not sides >= set(of_step) and _without_style(formula) not in known:
                known.add(_without_style(formula))
                doubtful = step.context.formal is not None and (formula == one.formula or is_set(one.formula))
                found.append(Meant(formula, FarWords(one.line, one.quote, ""), stated, doubtful))
    yield from found
    if 1 < len(found) <= MAX_STATED:
        yield Meant(", ".join(one.formula for one in found), found[0].phrase, found[0].stated)


def fixes_what_moves(step: Step, formula: str, line: int) -> bool:
    r"""Whether a relation only gives a value to what tends to a limit in a step: "with $S = 10$" is of another S.

    Args:
        step: The step.
        formula: The relation, '' for none.
        line: Its line.
    """
    try:
        claim = claim_of(step)[1] if formula else None
        chains = chains_of(formula, line) if claim is not None else []
    except (Unreadable, ShapeMismatch, RecursionError):
        return False
    moves = {side.data[0] for side in (claim.left, claim.right) if side.op == "limit"} if claim is not None else set()
    if not moves or len(chains) != 1 or chains[0].ops != ("=",):
        return False
    sides = [all_names(side) for side in chains[0].exprs]
    return set().union(*sides) == moves and set() in sides


_STYLE = re.compile(r"\\(?:mathbf|boldsymbol|bm|left|right)(?![a-zA-Z])|[{}\s]")


def _without_style(formula: str) -> str:
    """A formula without bold letters and spaces, to tell which are the same."""
    return _STYLE.sub("", formula)


def _was_assumed(step: Step, one: FarRelation) -> bool:
    """Whether a relation of the prose was read as an assumption; where it holds no longer, it was taken back."""
    assumed = [
        text for line, text in step.context.understood if 0 <= line - one.line <= 3 and text.startswith("assumed")
    ]
    definite = is_order(one.formula) and any("definite)" in text for text in assumed)
    return definite or any(one.formula in text for text in assumed)


_TURNED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "!=", "!=": "="}


_BUILT = re.compile(r"\\{.+?(?::|\\(?:mid|vert|colon)(?![a-zA-Z])|\|)(.+)\\}", re.DOTALL)


def _ways_to_mean(step: Step, one: FarRelation) -> Iterator[str]:
    r"""The relations that one may mean: itself, its contrary where words deny it, and what a set says of its members.

    `[0, 1]` and `\mathbb{R}_+` are a set of any number, and `\{x : x \ge 0\}` has a relation.
    """
    built = _BUILT.search(one.formula)
    if built is not None:
        yield built[1].strip()
    if is_set(one.formula):
        numbers = [s.name for s in _subject(step.context, sorted(collect_symbols(step))).symbols if _is_number(s)]
        yield from (rf"{name} \in {one.formula.strip()}" for name in numbers)
        return
    yield one.formula
    if one.denied:
        try:
            (found,) = chains_of(one.formula, one.line)
        except (Unreadable, RecursionError, ValueError):
            return
        if len(found.ops) == 1 and found.ops[0] in _TURNED:
            yield to_latex(replace(found, ops=(_TURNED[found.ops[0]],)))


def _is_number(symbol: Symbol) -> bool:
    return symbol.whole or (symbol.kind == "array" and symbol.type is not None and symbol.type.scalar)


def _guesses(step: Step, slip: bool) -> Iterator[Meant]:
    unread = {caveat.line for caveat in step.context.caveats}
    words = [one for one in step.far_words if one.may_mean(step.line, unread)]
    made = operations_of(step)
    usuals = [usual for usual in USUAL if not usual.made_by & made and not (slip and usual.write in _OF_ONE)]
    mentioned = [(usual, next((one for one in words if usual.is_mentioned(one)), None)) for usual in usuals]
    if not any(phrase for _, phrase in mentioned):
        return
    about = _subject(step.context, sorted(collect_symbols(step)))
    rounds = [[Meant(formula, phrase) for formula in usual.write(about)] for usual, phrase in mentioned if phrase]
    yield from (one for turn in zip_longest(*rounds) for one in turn if one is not None)  # the first of each kind first


def usual_hypotheses(step: Step, further: Iterable[str]) -> Iterator[str]:
    """The usual hypotheses on the symbols of a step, whether words mention them or not, and some others in turn.

    Sizes of one, and symbols that are the same, are left out: they make nearly every step true. What is said of
    families and of signs counts where words mention it, see `meant_by_words`.

    Args:
        step: The step.
        further: Other formulas.
    """
    about = _subject(step.context, sorted(collect_symbols(step)))
    about = replace(about, symbols=[one for one in about.symbols if one.kind != "family"])
    kinds = (usual.write for usual in USUAL if usual.write not in _WHERE_MENTIONED)
    rounds = zip_longest(further, *(write(about) for write in kinds))
    yield from dict.fromkeys(one for turn in rounds for one in turn if one is not None)


def operations_of(step: Step) -> frozenset[str]:
    """The operations of a step, those of the definitions of its symbols included.

    Args: step.
    """
    try:
        claim = claim_of(step)[1]
    except ShapeMismatch:
        return frozenset()
    return frozenset(t.op for side in (claim.left, claim.right) for t in side.walk())


def _subject(context: Context, names: list[str]) -> Subject:
    """Those symbols that no definition and no law determines."""
    symbols = [context.symbols[name] for name in names]
    letter = next((one for one in "ijklrst" if one not in context.symbols), "i'")
    return Subject([one for one in symbols if (one.term is None or one.whole) and one.law is None], letter)


def verdict_under(step: Step, formula: str, decide: Callable[[Step, Sequence[Relation]], Finding]) -> Verdict:
    """The verdict on a step under a hypothesis; of one that cannot be read UNDECIDED if it speaks of known symbols.

    Args:
        step: The step.
        formula: The hypothesis.
        decide: Decides a step under some more hypotheses.
    """
    line = step.line
    try:
        said = chains_of(formula, line)
        if any("->" in one.ops for one in said):  # what is stated may be meant in the limit
            limit = replace(step, op="~", options=[*step.options, Option("as", formula, line)])
            return decide(limit, ()).verdict
        if any(op in VAGUE for one in said for op in one.ops):  # no equation holds exactly by it
            plain = step.op == "=" or not _names_symbols_alone(step.context, formula, line)
            return Verdict.REFUTED if plain else Verdict.UNDECIDED
        more = [one for each in said for one in _hypotheses(step.context.copy(), each, line)]
        return decide(step, more).verdict
    except (Unreadable, ShapeMismatch, RecursionError, Unsettled):
        restricts = _names_symbols_alone(step.context, formula, line) or _says_what_it_is(step, formula)
        return Verdict.UNDECIDED if restricts else Verdict.UNREADABLE


def _hypotheses(context: Context, chain: Chain, line: int) -> list[Relation]:
    r"""What a chain says as hypotheses: of `x \in [0, 1]` the bounds, and nothing of a domain without any.

    Raises:
        Unreadable: It cannot be read.
    """
    ops = tuple({":=": "=", "equiv": "="}.get(op, op) for op in chain.ops)
    if ops != ("in",):
        return relations_of(context, replace(chain, ops=ops), [], line)
    elab = Elaborator(context, line=line)
    member, domain = elab.term(chain.exprs[0]), domain_of(elab, chain.exprs[1])
    bounds = [(end, op) for end, op in ((domain.lower, ">"), (domain.upper, "<")) if end is not None]
    if domain.values or domain.kind != "array" or (bounds and not member.type.scalar):
        raise Unreadable("not understood as a hypothesis", line)
    return [typed_relation(member, op if strict else f"{op}=", end, line) for (end, strict), op in bounds]


# What no number has all values of: squares, roots, absolute values, functions.
_OF_SOME_RANGE = re.compile(
    r"\^\s*\{?\s*(?:[2468]|[a-zA-Z\\(-])|\\(?:sqrt|[lr]vert|[lr]Vert|exp|cosh?|sin|tanh|max|min|operator\w+)|\|"
)


def _says_what_it_is(step: Step, formula: str) -> bool:
    r"""Whether an equation says what a free symbol of the step is by new symbols: `A = Q \Lambda Q^\top`, `x = t^2`.

    A number that is a sum with a new number in it may be any, as in `g = \gamma + 2 w`.
    """
    try:
        chains = chains_of(formula, step.line)
    except (Unreadable, RecursionError):
        return False
    subject = _subject(step.context, sorted(collect_symbols(step))).symbols
    ranged = bool(_OF_SOME_RANGE.search(formula))
    free = {one.name for one in subject if one.kind != "size" and (ranged or not _is_number(one))}
    names = [symbol_name(side) for one in chains if set(one.ops) <= {"=", ":="} for side in one.exprs]
    return any(name in free for name in names) and all(name is None or name in free for name in names)


_WORD_IN_FORMULA = re.compile(r"\\(?:math\w+|operatorname\*?|text\w*)\s*\{[^{}]*\}|\\[a-zA-Z]+")
_FIXED = re.compile(r"\\nabla(?![a-zA-Z])|(?<![a-zA-Z\\])(?:\\mathbf\s*\{\s*e\s*\}|e)\s*_\s*(?:\w|\{\s*\w+\s*\})")
"""What is not a symbol of a formula: a gradient, and unit vectors."""
_INDEX = re.compile(r"_\s*(?:[a-z]|\{[a-z ,]{1,5}\})(?![a-zA-Z])")


def _names_symbols_alone(context: Context, formula: str, line: int) -> bool:
    """Whether all letters of a formula that cannot be read are declared; of a set, those of its member."""
    member = _INDEX.sub(" ", _FIXED.sub(" ", formula.split(r"\in ")[0] if r"\in " in formula else formula))
    try:
        names = {token.value for token in tokenize(member, line) if token.kind == "NAME"}
    except Unreadable:
        names = set(re.findall(r"[a-zA-Z]", _WORD_IN_FORMULA.sub(" ", member)))
    names = {name for name in names if not name.startswith((r"\mathbb", r"\mathbf"))}
    return bool(names) and names <= set(context.symbols)


def words_of(meant: Meant) -> str:
    """What to say of a step that holds under what may be meant."""
    place = f"line {meant.phrase.line}: '{shorten_quote(meant.phrase.quote)}'"
    if meant.stated and meant.found != "holds":
        return (
            f"it {meant.found} under ${meant.formula}$ ({place}), which was not read as a hypothesis: write what it "
            "says with relations after 'Assume' above the display, or leave the formula out if it restricts nothing"
        )
    if meant.stated:
        return (
            f"it {meant.found} under ${meant.formula}$ ({place}), which was not assumed here: write 'Assume "
            f"${meant.formula}$' above the display, or '% assume: {meant.formula}' above the step"
        )
    return (
        f"it holds if ${meant.formula}$, and words of the document may mean that ({place}): write 'Assume "
        f"${meant.formula}$' above the display, or 'All hypotheses are declared as formulas.' if they do not"
    )

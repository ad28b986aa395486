r"""Which random symbols a paragraph says to be independent, and of what.

A sentence states independence of the symbols that it names: "$X$ and $Y$ are independent", "independent
$X, Y \sim ...$", "$X$ is independent of $Y$ and $Z$", "they are independent". It says nothing of other symbols, and
"vectors with independent entries" may depend on each other. What is not understood is quoted, and states nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, islice
from typing import NamedTuple

from attention_core.derivation.latex.lexer import tokenize
from attention_core.derivation.latex.parse import parse_tokens
from attention_core.derivation.latex.printer import all_names, symbol_name
from attention_core.derivation.latex.syntax import Dots, Expr, Group, Name, Sub, Unreadable
from attention_core.derivation.reading.masked_text import FORMULA, formula_at
from attention_core.derivation.reading.properties import plain_words
from attention_core.derivation.reading.spelled_laws import BEFORE_IT
from attention_core.derivation.terms.context import ALL_MEMBERS, Context, Independence
from attention_core.derivation.words.caveats import declared_names, shorten_quote
from attention_core.derivation.words.paragraphs import cut_at_commas

Block = frozenset[str]
MAX_WORDS = 40  # of one sentence that are read: each looks at the whole of it

_NOUN = (
    r"(?:real|scalar|random|standard|multivariate|white|normal|gaussian|uniform|exponential|poisson|bernoulli|binomial|"
    r"geometric|rademacher|additive|zero-mean|centered|centred|variables?|vectors?|matri(?:x|ces)|numbers?|signs?|noises?|"
    r"draws?|samples?|copies|observations?|errors?|features?|inputs?|tokens?|quer(?:y|ies)|keys?|values?|weights?|both|"
    r"distributed|drawn|sampled|chosen|the|an?|two|three|four|further|other|another)"
)
_NOUNS = rf"(?:{_NOUN}\s+)*"
_CALLED = r"(?:(?:the|an?|its|our)\s+(?:(?!(?:of|in|between|than|by)\b)[a-z-]+\s+){1,3})?"  # "the noise terms $X, Y$"
_JOIN = rf"(?:\s*,\s*and\s+|\s*,\s*|\s+and\s+){_CALLED}{_NOUNS}"
_GROUP = rf"{FORMULA}(?:{_JOIN}{FORMULA})*"
_FREE = re.compile(r"(?<![\w-])independent(?P<ly>ly)?(?![\w-])", re.IGNORECASE)
_HOW = r"(?P<how>(?:(?:all|both|mutually|jointly|pairwise|statistically|stochastically|totally|fully)\s+)*)"
_ENTRY = r"(?:entries|components|coordinates|elements)"

# Words of the same sentence with which it may say something else than that symbols are independent.
_HEDGE = re.compile(
    r"\b(?:iff?|whether|unless|were|would|could|might|may|can|cannot|unknown|unclear|question|when\w*|not|\w+n't|without|no|nor|"
    r"neither|never|except|only|almost|nearly|approximately|roughly|asymptotically|essentially|practically|"
    r"condition\w*|provided|in\s+case|claims?|shows?|proves?|false|wrong|doubt\w*|contrary|unlike|instead|until|otherwise|"
    r"or|either|even|though|although|pretend|hope\w*|ask|check|verify|test|should|must|become\w*|seems?|appears?|looks?|"
    r"some(?:times|how)?|often|usually|possibly|perhaps|maybe|hardly|barely|but|before|after|once|while|problem|"
    r"exercise)\b|\?",
    re.IGNORECASE,
)
_MAY_ASSUME = re.compile(r"\b(?:may|can|must)\s+(?:also\s+)?(?=(?:assume|suppose|take)\b)", re.IGNORECASE)
_GIVEN = re.compile(r"(?<!^)(?<!\bare )(?<!\bbe )(?<!\band )(?<!\bis )\bgiven\b", re.IGNORECASE)
_TAIL = re.compile(
    rf"\s*(?:[.,;:)]|$|---?|[\u2013\u2014]|(?:and|where|whose|such|having|from|according\s+to)\b|with\s+(?!(?:\w+\s+)?probability)|"
    rf"(?:on|over|in)\s+(?:the\s+interval\s+)?{FORMULA}|for\s+(?:(?:all|each|every)\s+)?{FORMULA})",
    re.IGNORECASE,
)
_BEFORE_GROUP = re.compile(
    rf"(?:^\s*|[:;(]\s*|\b(?:let|that|and|with|where|draw|take|suppose|assume|assuming|given|consider|fix|here|moreover|also|"
    rf"further|furthermore|throughout|as|since|because|have|are|be|which)[\s,]*){_CALLED}{_NOUNS}$",
    re.IGNORECASE,
)
_OF_ENTRIES = re.compile(rf"\b(?:all\s+)?(?:the\s+)?{_ENTRY}\s+of\s+{_NOUNS}$", re.IGNORECASE)
_SUBJECT = re.compile(
    rf"(?P<group>{_GROUP})\s*[,(]?\s*(?:(?:be|is|are|being|remain)\s+)?(?:(?:assumed|taken|chosen|also|to|be|{_NOUN})\s+)*?{_HOW}"
    rf"{_NOUNS}$",
    re.IGNORECASE,
)
_LET = re.compile(
    rf"\b(?:let|suppose|assume|given|consider)(?:\s+that)?\s+{_CALLED}{_NOUNS}(?P<group>{FORMULA}(?:(?:{_JOIN}|\s*,?\s+with\s+|"
    rf"\s+in\s+){FORMULA})*)\s*,?\s*be\s+{_NOUNS}{_HOW}{_NOUNS}$",
    re.IGNORECASE,
)
_THEY = re.compile(
    rf"\b(?P<who>they|these|the\s+two|both|(?:all\s+(?:of\s+)?)?(?:the\s+|these\s+|them\s+)?(?:random\s+)?(?:variables|vectors|"
    rf"numbers|draws|symbols)|all\s+of\s+(?:them|these)|everything)\s+(?:are\s+|is\s+)?(?:(?:assumed|taken|to|be)\s+)*{_HOW}"
    rf"{_NOUNS}$",
    re.IGNORECASE,
)
_SCOPE = re.compile(
    r"\b(?:in\s+addition|in\s+what\s+follows|from\s+(?:now|here)\s+on|as\s+usual|by\s+(?:assumption|hypothesis))\b",
    re.I,
)
_FRONT = re.compile(
    rf"(?:let|us|we|also|now|here|moreover|further|furthermore|throughout|below|again|finally|suppose|assume|assuming|take|draw|"
    rf"consider|fix|given|that|and|where|with|which|such|since|because|as|may|can|have|all|of|mutually|jointly|be|are|is|"
    rf"entries|components|coordinates|elements|independent|{_NOUN})",
    re.IGNORECASE,
)
_OPENS = re.compile(r"\W*(?:let|draw|take|suppose|assume|consider|fix|given|where|here)\b", re.IGNORECASE)
_PART = rf"(?:{_ENTRY}|rows|columns)"
_PARTS_BEFORE = re.compile(
    rf"\b{_PART}\s+(?:(?:that\s+|which\s+)?(?:are|be)\s+)?(?:(?:all|each|mutually|jointly|{_NOUN})\s+)*$", re.IGNORECASE
)
_PARTS_BEHIND = re.compile(rf"\s+(?:{_NOUN}\s+)*{_PART}\b", re.IGNORECASE)
_AHEAD = re.compile(rf"\s+{_NOUNS}(?P<group>{_GROUP})", re.IGNORECASE)
_BEFORE_AHEAD = re.compile(
    rf"(?:^|[,:;(]|{FORMULA}|\b(?:let|draw|take|suppose|assume|given|consider|fix|and|of|with|where|that|are|be|have|{_NOUN}|all|"
    rf"mutually|jointly|statistically|stochastically|from|for))\s*$",
    re.IGNORECASE,
)
_EACH_OTHER = re.compile(r"\s+(?:of|from)\s+(?:each\s+other|one\s+another)\b", re.IGNORECASE)
_OF = re.compile(rf"\s+(?P<of>of|from)\s+(?:both\s+)?{_NOUNS}(?P<group>{_GROUP})", re.IGNORECASE)
_BEFORE_IT = re.compile(rf"\s+{BEFORE_IT}\b")
_OF_IT = re.compile(r"\s+of\s+(?:it|them|these|both)(?=\s*(?:[.,;:)]|$|and\b))", re.IGNORECASE)
_APART = re.compile(rf",?\s+(?:(?:let|draw|take)\s+)?{_NOUNS}(?P<group>{_GROUP})", re.IGNORECASE)
_COPIES = re.compile(r"\b(?:copies|samples|draws|observations)\s*$", re.IGNORECASE)
_THING = (
    r"(?:noise|terms?|components?|coordinates|entries|elements|scalars|reals|gaussians|normals|exponentials|uniforms|coins?|toss(?:es)?|"
    r"flips|dice|rolls|trials|experiments|measurements|scores|factors|parts|waiting|times|lifetimes|counts|outcomes|rewards|"
    r"loss(?:es)?|gradients|logits|activations|labels|outputs|signals|disturbances|residuals|shocks|bits|indicators|symbols|"
    r"quantities|perturbations|initial|real-valued|discrete|continuous|finite)"
)
_MORE = re.compile(
    rf"(?:\s+(?:{_NOUN}|{_THING}|and)(?![\w-]))*?(?=\s*(?:[.,;:)]|$|---?|[\u2013\u2014]|(?:and\s+(?!{_THING}|{_NOUN}\s)|with|where|whose|"
    r"from|of|in|on|over|for|according|such|having|throughout|here|too|as|at|that|to|given)\b))"
    r"(?:\s+(?:throughout|here|too|as\s+usual|at\s+random))?",
    re.IGNORECASE,
)
_IID_ENDS = re.compile(
    r"\bi\.\s?i\.\s?d\.(?=\s+[A-Z](?!aussian|ormal|ernoulli|oisson|ademacher|xponential|niform|inomial|eometric|tandard))"
)
_SENTENCE = re.compile(r"[.;!?]+(?=\s|$)")
_DRAWS = re.compile(r"\\sim(?![A-Za-z])")
_DECLARES = re.compile(r"^[^=]*(?:[<>]|\\(?:[lg]eq?|in|sim)(?![A-Za-z]))[^=]*$")
_RELATED = re.compile(r"[=<>]|\\(?:[lg]eq?|neq?|in|sim)(?![A-Za-z])")


class _Mention(NamedTuple):
    """One formula of a group: the random symbols that it names, each in its block, and whether it only names them."""

    blocks: tuple[Block, ...]
    plain: bool

    @property
    def names(self) -> Block:
        """All of them."""
        return frozenset().union(*self.blocks)


class _Statement(NamedTuple):
    """What is independent of each other: groups of blocks of symbols, and families whose members are."""

    groups: tuple[tuple[Block, ...], ...] = ()
    families: Block = frozenset()
    free_members: int = ALL_MEMBERS
    parts: bool = False  # of the entries of each symbol for itself


class _NotUnderstood(Exception):
    """Words about independence from which it is not clear what is independent of what."""


def state_independence(context: Context, parts: Sequence[str], line: int) -> None:
    """Note in the laws of a context which symbols a paragraph says to be independent.

    Args:
        context: What is declared; laws of symbols in it are replaced.
        parts: Prose and formulas in turn.
        line: The line where they begin.
    """
    prose = [plain_words(_IID_ENDS.sub(r"\g<0> .", part)) for part in parts[::2]]
    if not any("independent" in part.lower() for part in prose):
        return
    formulas = [part.strip() for part in parts[1::2]]
    masked, lines = "", []
    for place, part in enumerate(parts):
        if place % 2:
            masked += f"\0{place // 2}\0"
        else:
            masked += prose[place // 2]
        line += part.count("\n")
        lines.append((len(masked), line))
    above: list[str] = []
    for start, sentence in _sentences(masked):
        reader = _SentenceReader(context, formulas, sentence, above)
        for found in islice(_FREE.finditer(sentence), MAX_WORDS):
            place = start + found.end()
            _take(context, reader, found, next(at for ends, at in lines if place <= ends), place)
        above = reader.drawn_before(len(sentence)) or above


def _sentences(masked: str) -> Iterator[tuple[int, str]]:
    """The sentences of a masked text, each with the place where it begins."""
    start = 0
    for found in _SENTENCE.finditer(masked):
        yield start, masked[start : found.end()]
        start = found.end()
    yield start, masked[start:]


def _take(context: Context, reader: _SentenceReader, found: re.Match[str], line: int, place: int) -> None:
    """Note what one word of a sentence states, or that it is not understood."""
    try:
        statement = reader.read(found)
    except (_NotUnderstood, Unreadable, RecursionError):
        quote = shorten_quote(re.sub(FORMULA, lambda one: f"${formula_at(one[0], reader.formulas)}$", reader.sentence))
        message = "not read as a statement of independence, as it is not clear what is independent of what"
        context.understood.append((line, f"{message}: '{quote}'"))
        return
    for text in _note(context, statement, (line, place)):
        context.understood.append((line, text))


def _note(context: Context, statement: _Statement, place: tuple[int, int]) -> Iterator[str]:
    """Replace the laws of the symbols of a statement, and say what it states."""
    if statement.parts:
        yield "independent entries: those of each symbol, which says nothing of different symbols"
    line, number = place
    for name in sorted(statement.families):
        families = frozenset({name})
        members = Independence(line, context.level, number, families=families, members=statement.free_members)
        _add(context, families, members)
        yield f"the members of {name} are independent of each other" + ", in pairs" * (statement.free_members == 2)
    for blocks in statement.groups:
        if len(blocks) < 2:
            continue
        _add(context, frozenset().union(*blocks), Independence(line, context.level, number, blocks))
        shown = [f"({', '.join(sorted(one))})" if len(one) > 1 else min(one) for one in blocks]
        yield f"{', '.join(shown[:-1])} and {shown[-1]} are independent of each other"


def _add(context: Context, names: Block, statement: Independence) -> None:
    for name in names:
        symbol = context.symbols[name]
        assert symbol.law is not None
        law = replace(symbol.law, independent=symbol.law.independent | {statement})
        context.symbols[name] = replace(symbol, law=law)


class _SentenceReader:
    """Reads what the words of one sentence say about independence."""

    def __init__(self, context: Context, formulas: list[str], sentence: str, above: list[str]) -> None:
        self.context, self.formulas, self.sentence, self.above = context, formulas, sentence, above

    def read(self, found: re.Match[str]) -> _Statement:
        """What one occurrence of "independent" states."""
        before, behind = self.sentence[: found.start()], self.sentence[found.end() :]
        if not self.is_about_random():
            return _Statement()
        are = re.search(r"\b(?:be|are)\s+(?:two\s+|three\s+)?$", before)  # "be independent components"
        if (_PARTS_BEHIND.match(behind) and not are) or _PARTS_BEFORE.search(before):
            return _Statement(parts=True)
        whole = " ".join(self.sentence.split())
        if _HEDGE.search(_MAY_ASSUME.sub("", whole)) or _GIVEN.search(whole):
            raise _NotUnderstood
        ahead = _AHEAD.match(behind)
        if ahead is not None and not found["ly"] and _BEFORE_AHEAD.search(before):
            subject = self.group(ahead["group"], whole=True)
            self.require_known_words(before, subject)
            return self.state(subject, before, False)
        apart = _APART.match(behind) if found["ly"] else None
        if apart is not None and re.search(r"(?:^|[,;]|\band)\s*$", before):
            subject = self.group(apart["group"], whole=True)
            others = frozenset(self.drawn_before(len(before)))
            own: Block = frozenset().union(*(one.names for one in subject))
            if any(one.plain for one in subject) or own & others:
                raise _NotUnderstood
            return _Statement(((others, own),)) if others else self.state(subject, before, False)
        return self.read_behind(before, behind)

    def require_known_words(self, front: str, subject: list[_Mention]) -> None:
        """Refuse names of symbols behind words that may turn what is stated: "a common mistake is to assume that"."""
        if any(not one.plain for one in subject):
            return  # a sentence that draws them
        masks = re.findall(FORMULA, front)
        if masks and _OPENS.match(front):
            if not all(_DECLARES.search(formula_at(mask, self.formulas)) for mask in masks):
                raise _NotUnderstood
            front = front[front.rindex(masks[-1]) + len(masks[-1]) :]
        elif masks:
            raise _NotUnderstood
        if not all(_FRONT.fullmatch(word) for word in re.findall(r"[A-Za-z][\w'-]*", _SCOPE.sub(" ", front))):
            raise _NotUnderstood

    def read_behind(self, before: str, behind: str) -> _Statement:
        """What the word states of what stands before it."""
        if re.search(r"\bthe\s+$", before):
            raise _NotUnderstood  # "the independent variables" of a regression
        subject, how, entries = self.subject(before)
        more = _MORE.match(behind)
        nouns = more[0] if more is not None else ""
        behind = behind[len(nouns) :]
        if _BEFORE_IT.match(behind) or _OF_IT.match(behind):
            own: Block = subject[-1].names if subject else frozenset()
            rest = frozenset(self.drawn_before(len(before)) or self.above) - own
            return _Statement(((rest, own),) if own and rest else ())
        others = _OF.match(behind)
        if mutual := _EACH_OTHER.match(behind):
            behind = behind[mutual.end() :]
        elif others and not _COPIES.search(nouns) and not entries:
            names = self.group(others["group"], whole=True)
            if names or others["of"] == "of":
                if not _TAIL.match(behind[others.end() :]):
                    raise _NotUnderstood
                return self.state_others(subject, names)
        elif others and _COPIES.search(nouns):
            behind = behind[others.end() :]
        if not _TAIL.match(behind):
            raise _NotUnderstood
        if entries and len(subject) == len(subject[0].blocks) == 1 and not self.families(subject[0].blocks):
            return _Statement(parts=True)  # "the entries of $w$ are independent"
        return self.state(subject, before, "pairwise" in how.lower())

    def subject(self, before: str) -> tuple[list[_Mention], str, bool]:
        """The group that a predicate is about, its adverbs, and whether it is about entries."""
        let = _LET.search(before)
        if let is not None:
            subject = self.group(let["group"], whole=True)
            self.require_known_words(before[: let.start("group")], subject)
            return subject, let["how"], False
        found = _SUBJECT.search(before)
        if found is not None:
            front = before[: found.start()]
            entries = bool(_OF_ENTRIES.search(front))
            if not entries and not _BEFORE_GROUP.search(front):
                raise _NotUnderstood
            group = self.group(found["group"], whole=entries)
            if entries and not group:
                raise _NotUnderstood
            self.require_known_words(front, group)
            return group, found["how"], entries
        they = _THEY.search(before)
        if they is None:
            raise _NotUnderstood
        here = self.drawn_before(they.start())
        every = re.match(r"all|everything", they["who"], re.IGNORECASE)
        names = dict.fromkeys([*self.above, *here] if every else here or self.above)
        subject = [_Mention((frozenset({name}),), True) for name in names]
        self.require_known_words(before[: they.start()], subject)
        return subject, they["how"], False

    def group(self, text: str, whole: bool) -> list[_Mention]:
        """The formulas of a group; without `whole`, only its end, which is all draws or all names."""
        out: list[_Mention] = []
        for mask in reversed(re.findall(FORMULA, text)):
            mention = self.mention_of(formula_at(mask, self.formulas))
            if not mention.blocks:
                continue
            if not whole and out and mention.plain != out[0].plain:
                break
            twice = [one for one in out if one.names & mention.names]
            if not twice:
                out.insert(0, mention)
            elif whole and not mention.plain and not any(one.plain for one in twice):
                # the law and the domain of the same symbols
                if mention.names <= twice[0].names:
                    continue
                if any(not one.names <= mention.names for one in twice):
                    raise _NotUnderstood
                out = [mention, *(one for one in out if one not in twice)]
            elif whole:
                raise _NotUnderstood
            else:
                break
        return out

    def state(self, subject: list[_Mention], before: str, pairs: bool) -> _Statement:
        """What is stated of a group: that its blocks are independent of each other."""
        blocks = tuple(block for one in subject for block in one.blocks)
        families = self.families(blocks)
        if any(len(block) > 1 and (block & families or len(blocks) == 1) for block in blocks):
            raise _NotUnderstood
        if pairs and families and len(blocks) > 1:
            raise _NotUnderstood
        if len(blocks) == 1 and not families:
            (own,) = blocks
            others = frozenset(self.drawn_before(len(before))) - own
            if not others or subject[0].plain:
                raise _NotUnderstood
            return _Statement(((others, own),))
        if not pairs:
            return _Statement((blocks,), families)
        return _Statement(tuple(combinations(blocks, 2)), families, 2)

    def state_others(self, subject: list[_Mention], others: list[_Mention]) -> _Statement:
        """`X is independent of Y and Z`; `X and Y are independent of Z` states it of each."""
        behind: Block = frozenset().union(*(one.names for one in others))
        own = [block - behind for one in subject for block in one.blocks]
        return _Statement(tuple((block, behind) for block in own if block) if behind else ())

    # -- symbols ----------------------------------------------------------------------------------------------------

    def families(self, blocks: Sequence[Block]) -> Block:
        """The families in some blocks."""
        return frozenset(n for block in blocks for n in block if self.context.symbols[n].kind == "family")

    def is_about_random(self) -> bool:
        """Whether the sentence, or one before it, draws or names anything random."""
        formulas = [formula_at(mask, self.formulas) for mask in re.findall(FORMULA, self.sentence)]
        known = self.context.symbols
        return bool(self.above) or any(known[n].law for f in formulas for n in declared_names(self.context, f, 0))

    def drawn_before(self, end: int) -> list[str]:
        """The symbols that the sentence draws before a place."""
        out: list[str] = []
        for mask in re.findall(FORMULA, self.sentence[:end]):
            formula = formula_at(mask, self.formulas)
            if _DRAWS.search(formula):
                try:
                    out += [name for block in self.mention_of(formula).blocks for name in sorted(block)]
                except (_NotUnderstood, Unreadable, RecursionError):
                    continue
        return list(dict.fromkeys(out))

    def mention_of(self, formula: str) -> _Mention:
        """The random symbols that an inline formula names.

        Raises:
            _NotUnderstood: it is about something else that is random, such as a sum of them.
        """
        pieces = _heads(formula)
        run = any(isinstance(one, Dots) for one in pieces)
        blocks: list[Block] = []
        for one in pieces:
            inner = [c.exprs[0] for c in one.items if c.exprs] if isinstance(one, Group) else [one]
            names = frozenset(name for expr in inner for name in self.random_name(expr, run))
            if names and names not in blocks:
                blocks.append(names)
            elif names and not run:
                raise _NotUnderstood
        return _Mention(tuple(blocks), not _RELATED.search(formula))

    def random_name(self, expr: Expr, run: bool) -> list[str]:
        """The random symbol that an expression is, [] of what is not random."""
        known = self.context.symbols
        name = symbol_name(expr)
        if name is not None and name in known and not (isinstance(expr, Name) and known[name].kind == "family"):
            return [name] if known[name].law is not None else []
        base = known.get(symbol_name(expr.base) or "") if isinstance(expr, Sub) else None
        if base is not None and base.kind == "family" and isinstance(expr, Sub):
            index = expr.items[0].exprs[0] if len(expr.items) == 1 and expr.items[0].exprs else None
            if run or (isinstance(index, Name) and index.text not in known):
                return [base.name] if base.law is not None else []
        if any(known[n].law is not None for n in all_names(expr) if n in known):
            raise _NotUnderstood
        return []


def _heads(formula: str) -> list[Expr]:
    """What stands left of the relations of a formula, or alone between its commas."""
    heads: list[Expr] = []
    for tokens in cut_at_commas(tokenize(formula)):
        heads += [chain.exprs[0] for chain in parse_tokens(tokens).chains[:1]]
    return heads

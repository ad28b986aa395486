"""Whether a document says that an undeclared symbol is something else than it was read as.

An undeclared symbol is read as a real number, or as an array of real numbers. Where a sentence, a heading or a
declaration that could not be read calls it something else ("matrices $a$ and $b$", "the amplitudes $z$ are complex"),
nothing is accepted by that reading. Of an array, a function or a random variable such words stand right in front of
the symbol or say what it is: "a function of $w$" and "the matrix product with $w$" say nothing of w. Operators, sets,
groups and the like count wherever they stand near it. A relation in a declaration that could not be read counts if the
symbol is what it declares.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from attention_core.derivation.reading.spelled_domains import OTHER_NUMBERS
from attention_core.derivation.reading.step import FarWords, Step
from attention_core.derivation.terms.context import Context
from attention_core.derivation.words.caveats import shorten_quote
from attention_core.derivation.words.role_phrases import kind_of_role

_SET = (
    r"(?<=\w )(?<!\bwe )(?<!\bcan )(?<!\bto )(?<!\bus )(?<!\byou )(?<!\bthen )(?<!\band )(?<!\bis )(?<!\bare )"
    r"(?<!\bbe )(?<!\bif )(?<!\bwill )(?<!\bnow )sets?(?! of\b)"
)
_STRANGE = (
    r"operators?|quaternions?|octonions?|(?<!\bmore )(?<!\bless )(?<!\bvery )(?<!\btoo )(?<!\bquite )complex|imaginary|"
    r"infinit(?!ely many)\w*|groups?|rings?|monoids?|fields?|lie algebras?|"
    r"(?:rotation|permutation|reflection)s?(?! matri)|non-?commut\w*|"
    r"hermitian|unitary|spinors?|p-adic|modulo|quaternionic|grassmann|ordinals?|cardinals?|fuzzy|"
    r"floating-point|machine numbers?|dual numbers?|q-numbers?|non-?commut\w*|anti-?commut\w*|fermion\w*|"
    r"booleans?|(?<!\bthe )(?<!\bsome )(?<!\blinear )algebras?|algebraic structures?"
)
_OF_OTHERS = rf"transformations?|polynomials?|strings?|events?|{_SET}|categor\w+|paths?|(?<!\bother )words"
_OPERATORS = frozenset(["D", r"\partial", r"\mathcal{D}", r"\nabla"])
_OF_OPERATORS = r"derivatives?|differentiation|differentials?"
_OF_ARRAYS = r"matri(?:x|ces)|vectors?|tensors?|sequences?|random variables?"
_OF_FUNCTIONS = r"functions?(?! of\b)|compositions?|maps?|mappings?"
_EVERYWHERE = re.compile(
    r"non-?commut\w*|\b(?:do|does|need) not commute|\bquaternions?\b(?!-)|\bcomplex numbers?\b", re.I
)
_ARE_COMPLEX = re.compile(r"\b(?:is|are|be|being)\s+(?:(?:purely|all|both)\s+)?(?:complex|imaginary)\b", re.IGNORECASE)
_OTHER_ARITHMETIC = re.compile(
    r"\b(?:(?:floating[- ]point|interval|saturating) arithmetic|tropical|(?:max|min)[- ]plus)\b", re.IGNORECASE
)
"""Words that lead to a step whose sums are not those of real numbers."""
LEADS = 2  # lines from a step to such words at most
_SETS = re.compile(
    r"\\in\s*(?:\\math(?:bb|bf|cal|frak)\s*\{?\s*[CHFGQZKO](?![a-zA-Z])|G(?![a-zA-Z(\[_^])|M_|\\mathfrak|"
    r"(?:\\(?:mathrm|operatorname|text)\s*\{\s*)?(?:GL|SL|SO|SU|Sp|End|Aut|Hom|Mat|Sym)(?![a-zA-Z]))"
)
_VERBS = r"(?:is|are|be|being|denotes?|was|were|may|can|stands? for|represents?|contains?|stores?|holds?)"
_GOES_ON = r"(?!\s*,?\s*(?:this|that|it|we|they|there|so|hence|thus|then)\b)"  # with another subject
_NEAR = (  # of operators and the like, anywhere in the words behind a symbol
    rf"^{_GOES_ON}(?:[^.;]{{0,20}}?(?:\b{_VERBS}\b|[:|,(])|\s+(?:the|an?)\b)"
    r"[^.;]{0,60}?\b(?:%s)\b"
)
_NO_LINK = (
    r"(?!(?:of|in|to|for|with|that|which|from|on|at|over|and|while|when|where|whose|if|then|we|via|into|per|than)\b)"
)
_IS = (  # of arrays and functions, as what the symbol is
    rf"^{_GOES_ON}(?:[^.;]{{0,20}}?(?:\b{_VERBS}\b|[:|,(])|\s+(?=(?:the|an?)\b))"
    rf"(?:[^\w.;'\u2019-]+{_NO_LINK}[\w'\u2019-]+){{0,6}}?[^\w.;'\u2019-]+(?:%s)\b"
)
_BEFORE_NEAR = r"\b(?:%s)\b(?:\W+\w+){0,2}\W*$"
_BEFORE = rf"\b(?:%s)\b(?:\W+{_NO_LINK}\w+){{0,2}}\W*$"
_RELATION = re.compile(
    r"\\(?:in|ni|sim|colon|to|mapsto|rightarrow|[lg]eq?(?:slant)?|neq?|su[bp]set(?:eq)?|triangleq|coloneqq|equiv|approx|"
    r"propto|perp|mid)(?![A-Za-z])|[=<>:~|]"
)
_KIND = re.compile(
    r"\\(?:in|ni|sim|colon|to|mapsto|rightarrow|su[bp]set(?:eq)?|triangleq|coloneqq|equiv)(?![A-Za-z])|[=:~]"
)
"""The relations that may say of which kind a symbol is; what is compared is a number."""
_STYLE = re.compile(
    r"\\(?:mathbf|boldsymbol|bm|vec|mathrm|mathsf|text|left|right|displaystyle|overrightarrow)(?![A-Za-z])|[{}\s]"
)


_ROW = re.compile(r"\|\s+\|")  # where a row of a table ends
_VALUE = re.compile(r"(\\?[A-Za-z]+(?:_\w+)?'*)\([^()]*\)")
_SCRIPTS = r"(?:[_^]\(?[\w,+*\\:<>-]+\)?)*'*(?:\([A-Za-z0-9\\_^,;|.:'*]*\))?"
"""What may stand behind a letter of one symbol: its indices and labels, and the arguments of a function."""


def find_contradiction(step: Step, context: Context, names: Iterable[str]) -> str:
    """Where the document says that an inferred symbol is something else, '' if it does not.

    Args:
        step: The step.
        context: What is declared and inferred there.
        names: The inferred symbols that the step rests on.
    """
    arrays = not step.of_all_kinds  # whether words for arrays and functions count
    names = [name for name in names if name in context.symbols and context.symbols[name].kind in ("array", "family")]
    for failed in context.failed:
        unsaid = [one for one in names if not context.inferred.get(one, "").endswith("says so)")]
        if name := next((one for one in unsaid if _may_declare(failed.paragraph.text, one)), ""):
            return (
                f"line {failed.paragraph.line} says what {name} is, and was not read "
                f"('{shorten_quote(failed.paragraph.text)}')"
            )
    for words in step.far_words:
        leads = 0 < step.line - words.line <= LEADS and _OTHER_ARITHMETIC.search(words.words)
        if names and (leads or _EVERYWHERE.search(words.quote)):
            return quote_words(words, ", ".join(names))
        for name in names:
            if context.inferred.get(name, "").endswith(f"(line {words.line} says so)"):
                if _mentions(words.quote, name) and _ARE_COMPLEX.search(words.quote):
                    return quote_words(words, name)  # "the number $a$ is complex"
                continue  # these words are where it was read from
            kind = context.symbols[name].type
            strange = rf"{_STRANGE}|{_OF_OPERATORS}" if name in _OPERATORS else _STRANGE
            plain = arrays and (kind is None or kind.scalar)
            others = _OF_ARRAYS if "(" in name else rf"{_OF_ARRAYS}|{_OF_FUNCTIONS}"
            if _is_called(words.quote, name, strange, f"{_OF_OTHERS}|{others}" if plain else _OF_OTHERS):
                return quote_words(words, name)
    return ""


def quote_words(words: FarWords, name: str) -> str:
    """Say that some words may say of a symbol, or of some, that it is something else.

    Args:
        words: The words.
        name: The symbol, or several with commas between them.
    """
    verb = "are" if "," in name or name in ("the numbers", "the integrals") else "is"
    return f"line {words.line} may say that {name} {verb} something else ('{shorten_quote(words.quote)}')"


def _is_value_at(formula: str, name: str) -> bool:
    """Whether a formula is the value of another function at a symbol, `f'(A)`: words behind it are about the value."""
    head = _VALUE.fullmatch(_STYLE.sub("", formula))
    return head is not None and not _mentions(head[1], _STYLE.sub("", name))


def _mentions(text: str, name: str) -> bool:
    return bool(re.search(rf"(?<![a-zA-Z\\]){re.escape(name)}(?![a-zA-Z])", text))


def _heads(formula: str) -> list[str]:
    """What a formula is about, without styles and brackets: what stands left of its relation, cut at commas."""
    left = _RELATION.split(formula, maxsplit=1)[0]
    depth, pieces = 0, [""]
    for sign in left:
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and not depth:
            pieces.append("")
        else:
            pieces[-1] += sign
    return [_STYLE.sub("", one) for one in pieces]


def _is_about(formula: str, name: str) -> bool:
    """Whether a formula is a symbol, a member or a value of it, or relates it to something."""
    plain = re.escape(_STYLE.sub("", name))
    return any(re.fullmatch(rf"[(\[]?{plain}(?![A-Za-z]){_SCRIPTS}[)\]]?", one) for one in _heads(formula))


_BE = re.compile(
    r"[\s,]*(?:both\s+|each\s+|all\s+)?(?:be|is|are|denotes?|represents?|stands?\s+for)\s+(?P<what>[^.;,:()]*)",
    re.IGNORECASE,
)
_JOINT = r"[\s,(]*(?:and|or)?[\s,(]*"
_DEFINITE = re.compile(r"\s*(?:the|our|its|their|this|again|simply|just|also)\b", re.IGNORECASE)
_KNOWN = re.compile(r"(?:numbers?|scalars?|vectors?|matri(?:x|ces)|constants?|reals?|weights?)\s*", re.IGNORECASE)


def _may_declare(text: str, name: str) -> bool:
    """Whether a paragraph that could not be read may say of which kind a symbol is, by a relation or by words."""
    parts = re.split(r"(?<!\\)\$", text)
    for place in range(1, len(parts), 2):
        if not _is_about(parts[place], name):
            continue
        if _KIND.search(parts[place]):
            return True
        after = place + 1
        while after + 2 < len(parts) and re.fullmatch(_JOINT, parts[after]):
            after += 2
        calls = _BE.match(parts[after]) if after < len(parts) else None
        if calls is not None and _names_a_kind(" ".join(calls["what"].split())):
            return True
    return False


def _names_a_kind(phrase: str) -> bool:
    """Whether a phrase may say that a thing is neither a real number nor an array: "a frob", not "the weight"."""
    if OTHER_NUMBERS.search(phrase):
        return True
    known = kind_of_role(phrase) or _KNOWN.search(phrase) is not None
    return bool(phrase) and not known and not _DEFINITE.match(phrase)


def _is_called(quote: str, name: str, near: str, kinds: str) -> bool:
    """Whether words near a symbol are of one sort, or its description names one of some kinds.

    Args:
        quote: The words, with their formulas.
        name: The symbol.
        near: Words that count near any formula with the symbol.
        kinds: Those that count where they say what it is.
    """
    parts = re.split(r"(?<!\\)\$", quote)
    for place in range(1, len(parts), 2):
        if not _mentions(parts[place], name):
            continue
        if _SETS.search(parts[place]):
            return True
        if _is_value_at(parts[place], name):
            continue
        before, after = place - 1, place + 1
        while before > 1 and re.fullmatch(_JOINT, parts[before]):
            before -= 2
        while after + 2 < len(parts) and re.fullmatch(_JOINT, parts[after]):
            after += 2
        behind = _ROW.split(parts[after])[0] if after < len(parts) else ""
        front = _ROW.split(parts[before])[-1]
        if re.search(_BEFORE_NEAR % near, front, re.I) or re.search(_NEAR % near, behind, re.I):
            return True
        calls = re.search(_BEFORE % kinds, front, re.I) or re.search(_IS % kinds, behind, re.I)
        if calls and _is_about(parts[place], name):
            return True
    bare, letter = " ".join(parts[::2]), rf"(?-i:{re.escape(name)})"
    either = f"{near}|{kinds}"
    called = rf"\b(?:{either})\s+(?:\w\s*(?:,|and)\s*)*{letter}\b|(?:^|\|)\s*{letter}\s*\|[^|]*\b(?:{either})\b"
    return len(name) == 1 and bool(re.search(called, bare, re.IGNORECASE))

r"""Roles of symbols: "where $q$ is the query", "here $p$ contains the attention weights".

A role names what a symbol stands for in a model. It restricts nothing where the symbol may be anything of its shape (a
query, the input), where it is a size that counts something, where its definition says what it is (the
scores, the output), or where weights are known to be weights. A role that is none of these is unread.
"""

from __future__ import annotations

import re

from attention_core.derivation.document.blocks import Sentence
from attention_core.derivation.terms.context import Context
from attention_core.derivation.words.role_phrases import kind_of_role

_SAYS = r"(?:(?:is|are|be|holds?|contains?|denotes?|stands? for|collects?|for)\b|(?=(?:the|an?) ))"
_MANY = r"(?:(?:vector|matrix|column|row|sequence|family|set|table)s? of (?:the |all |all the )?)?"
_OF = (
    r"(?: (?:of|for|in) (?:the |a |each |our |both |two )*(?:linear )?(?:layers?|attention|model|network|"
    r"tokens?|softmax|sequence|keys|queries))*"
)
_FREE = (
    r"(?:(?:two |three )?(?:blocks?|parts?|pieces?|chunks?|tiles?|segments?) of (?:the )?(?:scores?|logits|keys|values|"
    r"queries|inputs?)(?: of (?:one|a|the same) (?:row|query|token))?|"
    r"quer(?:y|ies)|keys?|values?|tokens?|inputs?|embeddings?|weight matri(?:x|ces)|bias(?:es)?(?: vectors?)?|"
    r"features?|"
    r"hidden states?|logits|angles?|constants?|weight vectors?|data(?: matrix)?|design matrix|parameters?|"
    r"(?:query|key|value|input|feature|parameter|token) "
    r"(?:vector|matrix|matrice|embedding|weight)s?)"
)
_COUNT = (
    r"(?:number of (?:tokens|heads|layers|keys|queries|samples|examples|classes|parameters|features|words|steps|"
    r"experts)|"
    r"(?:sequence|context) length|(?:head|hidden|embedding|model|feature|key) (?:dimension|size|width)|dimension|"
    r"(?:batch|vocabulary) size|length of the sequence|width|depth|rank of the update|rank)"
)
# What has a lower bound by its name: it says nothing new of a symbol that is declared with one.
_BOUNDED = (
    r"(?:(?:step|sample) size|(?:learning|decay|dropout|noise|mixing|error|false discovery) (?:rate|level)|rate|level|"
    r"(?:discount|damping|scale|scaling) factor|(?:smoothing|regulari[sz]ation|scale|rate|shape|mixing) parameter|"
    r"correlation(?: coefficient)?|bandwidth|predict(?:ion|ed probability|ed value)|decay|temperature"
    r"|threshold|tolerance|margin|confidence level|(?:success "
    r")?probability|momentum|radius)"
)
_DEFINED = (
    r"(?:(?:attention |scaled )?scores?|(?:predicted|class|output) probabilities|predictions?|logits?|"
    r"outputs?(?: vectors?)?|results?|update|loss|residuals?|errors?|(?:sample |arithmetic |empirical )?"
    r"(?:mean|average)|"
    r"hat matrix|(?:similarity|score) (?:matrix|vector)|gradient|hidden state|ratio|difference|"
    r"sum|midpoint)"
)
_PLACES = (
    r"(?:(?:true|correct|right|target|observed|predicted|chosen) )?(?:class|label|target|token|position|index|word)"
)
_WEIGHTS = r"(?:attention (?:weights|probabilities)|probabilities|probability vector|distribution)"
_JOINED = r"(?P<join>\s*(?:[,;]|,? and|,? as|[.])*\s*(?:where|here|with|let|put|and)?\s*)$"
_ROLES = (
    ("free", _FREE),
    ("free", "(?:arbitrary|as above|as before)"),
    ("size", _COUNT),
    ("bounded", _BOUNDED),
    ("values", "(?:labels?|targets?)"),
    (
        "index",
        _PLACES,
    ),
    ("defined", _DEFINED),
    ("weights", _WEIGHTS),
)
_ROLE = tuple(
    (kind, re.compile(rf"^\s*{_SAYS} ?(?:the |a |an |our )?{_MANY}{role}{_OF}{_JOINED}", re.IGNORECASE))
    for kind, role in _ROLES
)
_PHRASE = re.compile(rf"^\s*{_SAYS} ?(?P<role>[^.,;:]+?){_JOINED}", re.IGNORECASE)
_SUBJECT = re.compile(
    r"^\W*(?:(?:here|again|throughout),? )?(?P<role>(?:the|our) [^.,;:]+?) (?:is|are|will be)"
    r"(?: (?:denoted|written|called)(?: (?:by|as))?)?\s*$",
    re.IGNORECASE,
)
_FITTING = {
    "free": ("free",), "array": ("free",), "size": ("size",), "rate": ("bounded",), "label": ("index", "values"),
}  # fmt: skip
"""For each kind of a role those of symbols that may have it."""
_OPENS_ROLE = re.compile(rf"^\s*{_SAYS}", re.IGNORECASE)
_AND = re.compile(r"^\s*(?:,|,? and)\s*$")
_OPENS = re.compile(
    r"^\W*(?:(?:here|where|and|again|as before|as usual|let|we write|(?:the )?(?:vectors?|matrix|matrices|"
    r"numbers?|sizes?)),? ?)*$",
    re.IGNORECASE,
)
_RELATES = re.compile(r"\\(?:in|sim|[lg]eq?|neq?)(?![A-Za-z])|[<>=:]")
_BARE = re.compile(
    r"(?:\\mathbf\s*)?\{?\s*(\\?[a-zA-Z]+(?:_\w+|_\{[^{}]*\})?|\\(?:hat|bar|tilde)\s*\{\s*\\?[a-zA-Z]+\s*\})\s*\}?\s*"
)
_SUMS = re.compile(r"(?:\\sum|\\mathbf\s*\{?1).*= ?1\s*$")
_SIGNED = re.compile(r"(?:\\geq?|>|\u2265) ?0\s*$")


def is_weights(context: Context, name: str) -> bool:
    """Whether a symbol is made by a softmax or declared to sum to 1: then "attention weights" says nothing new."""
    term = context.symbols[name].term
    if term is not None:
        ops = {part.op for part in term.walk()}
        return "softmax" in ops or {"exp", "div"} <= ops
    texts = [h.text for h in context.hypotheses if name in h.mentions]
    signed = context.symbols[name].lower is not None or any(_SIGNED.search(text) for text in texts)
    return signed and any(_SUMS.search(text) for text in texts)


_LINES_SUM = re.compile(
    r"^\W*(?:(?:so|hence|thus|therefore|then|again|also|now|note that|recall that|indeed),? )?"
    r"(?:(?:each|every|all|the) (?:row|entr(?:y|ies)|component|element)s? of (?:the )?(?:matrix |vector )?"
    r"(?P<of>\$\$|[A-Za-z]) (?:always |all |also )?(?:sums?|adds? up)|"
    r"\$\$ (?:has|have) rows that (?:sum|add up)|\$\$ (?:sums?|adds? up))"
    r"(?: up)? to (?:one|1|unity)\W*$",
    re.IGNORECASE,
)


def repeats_softmax(context: Context, sentence: Sentence) -> bool:
    """Whether a sentence only says that the rows of a softmax sum to one: its definition says so of every value.

    Args:
        context: What is declared there.
        sentence: The sentence.
    """
    found = _LINES_SUM.match(" ".join(sentence.prose.split()))
    letter = found["of"] if found is not None else None
    named = sentence.formulas if letter in (None, "$$") else [letter]
    if found is None or len(named) != 1:
        return False
    symbol = context.symbols.get(str(named[0]).strip())
    return symbol is not None and symbol.term is not None and symbol.term.op == "softmax"


def without_roles(context: Context, parts: tuple[str, ...] | list[str]) -> list[str]:
    """The parts of a sentence without the roles that restrict nothing.

    Args:
        context: What is declared there.
        parts: Prose and formulas in turn.
    """
    out = list(parts)
    for place in range(2, len(out), 2):
        found = _role(context, parts, place)
        if found is not None:
            out[place] = f" is {found.group('join')}"
    return out


def says_roles(context: Context, sentence: Sentence) -> bool:
    """Whether a sentence only says roles: "Here $q$ is the query and $k$ is the key."."""
    parts = sentence.parts
    if len(parts) == 3 and not parts[2].strip(" .;)*") and (subject := _SUBJECT.match(" ".join(parts[0].split()))):
        return bool(names := _names(parts, 2)) and _is_fitting(context, names, subject["role"])
    if len(parts) < 3 or not _OPENS.match(parts[0]):
        return False
    return all(_AND.match(parts[k]) or _role(context, parts, k) is not None for k in range(2, len(parts), 2)) and not (
        _AND.match(parts[-1])
    )


_INDEPENDENT = re.compile(
    r"^(?:here |again )?(?:it|they|this|\$\$) do(?:es)? not depend on(?: the (?:vector|matrix|number))? \$\$\W*$",
    re.IGNORECASE,
)


def says_independent(context: Context, sentence: Sentence) -> bool:
    """Whether a sentence says that something does not depend on an array: only random symbols ever do."""
    if not _INDEPENDENT.match(sentence.prose.strip()):
        return False
    symbol = context.symbols.get(sentence.formulas[-1].strip())
    return symbol is not None and symbol.kind == "array" and symbol.law is None


def _role(context: Context, parts: tuple[str, ...] | list[str], place: int) -> re.Match[str] | None:
    """The role that the prose at a place gives to the symbols before it, None without or where it may restrict them."""
    if not _OPENS_ROLE.match(parts[place]):
        return None
    names = _names(parts, place)
    for kind, pattern in _ROLE:
        found = pattern.match(parts[place])
        if found is not None and names and all(_fits(context, name, kind) for name in names):
            return found
    found = _PHRASE.match(parts[place])
    return found if found is not None and names and _is_fitting(context, names, found["role"]) else None


def without_free_role(text: str) -> str:
    """Some words behind a formula without the role that they give to it, if its symbols may have any value.

    Args:
        text: The words up to the next formula.

    Example:
        >>> [without_free_role(one) for one in (" is the query projection matrix, and ", " is a projection matrix")]
        [', and ', ' is a projection matrix']
    """
    found = _PHRASE.match(text)
    kind = kind_of_role(" ".join(found["role"].replace("*", "").split())) if found is not None else ""
    return found["join"] if found is not None and kind in ("free", "array") else text


def _is_fitting(context: Context, names: list[str], role: str) -> bool:
    """Whether some symbols may be called by a noun phrase whatever their values are."""
    kinds = _FITTING.get(kind_of_role(" ".join(role.replace("*", "").split())), ())
    return all(any(_fits(context, name, kind) for kind in kinds) for name in names)


def _names(parts: tuple[str, ...] | list[str], place: int) -> list[str]:
    """The symbols before a place, as far as "and" and commas join them; [] where one of them is a longer formula."""
    out: list[str] = []
    while place > 0:
        for piece in _RELATES.split(parts[place - 1])[0].split(","):
            if re.fullmatch(r"\s*\\[lc]?dots\s*", piece):
                continue
            found = _BARE.fullmatch(piece)
            if found is None:
                return []
            out.append(found.group(1))
        place -= 2
        if place <= 0 or not _AND.match(parts[place]):
            break
    return out


def _fits(context: Context, name: str, kind: str) -> bool:
    symbol = context.symbols.get(name)
    if symbol is None:
        return False
    if kind == "size":
        return symbol.kind == "size"
    if kind == "index":
        return symbol.kind == "index"
    if kind == "weights":
        return is_weights(context, name)
    if kind == "bounded":
        above = rf"(?:\\leq?|<)\s*{re.escape(name)}(?![A-Za-z])|(?<![A-Za-z\\]){re.escape(name)}\s*(?:\\geq?|>)"
        texts = [h.text for h in context.hypotheses if name in h.mentions]
        return symbol.lower is not None or any(re.search(above, text) for text in texts)
    if kind == "values":
        return bool(symbol.values) or any(name in h.mentions for h in context.hypotheses)
    return kind == "free" or (symbol.term is not None and not symbol.whole)

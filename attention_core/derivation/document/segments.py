"""Segments of a row, the words between formulas, and the statement that they make up.

A row is cut at its words, commas, wide gaps and alignment marks; what each run of tokens between them is, follows from
its form alone: a relation, what goes on with one, a condition, the range of an index.

What words between formulas do: join statements, bind indices, stand for an arrow or give a reason.
Words that change the meaning, or hold a relation themselves, are kept apart, so that they can be refused.

A piece is one statement while `splitter` gathers it: its own tokens apart from its conditions, its reasons and its
tags, and which segment goes on with it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from attention_core.derivation.latex.tokens import Tok, depth_zero

JOINS = (
    "and",
    "hence",
    "thus",
    "so",
    "therefore",
    "then",
    "similarly",
    "also",
    "moreover",
    "so that",
    "and hence",
    "and thus",
    "and so",
    "and therefore",
    "and then",
)
BINDS = (
    "for", "for all", "for any", "for every", "for each", "whenever", "where", "if", "when", "provided",
    "provided that", "assuming", "given that", "with", "such that", "subject to", "as long as", "and for", "and if",
    "in case",
)  # fmt: skip
OPENS_REASON = re.compile(
    r"\b(since|because|by|via|from|use|uses|using|as|due|apply|applying|substitut\w+|insert\w*|definition|"
    r"linearity|independen\w+|symmetry|orthogonal\w*|bilinearity|property|rule|inequality|identity|assumption|hypothesis)\b"
)
EQUALITY = re.compile(
    r"(?:and |with |where )*equality (?:holds |occurs |is attained )?(?:if and only if|only if|iff|if|when|for|at|"
    r"(?:exactly|precisely) (?:when|if))\b"
)
CHANGES = re.compile(
    r"\b(not|unless|except|never|otherwise|else|nowhere|fails?|false|wrong|some|violat\w+|contradict\w+|cannot|dont|doesnt|isnt|arent)\b"
)
WRITTEN_RELATION = re.compile(r"[=<>≤≥≠≈]|\\(?:leq?|geq?|neq?|approx|to|implies|iff|in|sim|gg|ll)\b")
ARROWS = {
    "implies": "=>", "which implies": "=>", "implies that": "=>", "if and only if": "<=>", "iff": "<=>",
    "or equivalently": "<=>", "equivalently": "<=>", "is equivalent to": "<=>", "which is equivalent to": "<=>",
}  # fmt: skip


def bare(word: str) -> str:
    """The letters of some words."""
    return " ".join(re.sub(r"[^a-z ]", "", word.lower().replace(".", " ")).split())


Segment = tuple[str, str, list[Tok]]  # the mark before it, the word or the tag that the mark is, its tokens
WHOLE = ("NAME", "NUM", "PLUS", "MINUS", "TIMES", "GAP")  # what a whole number is written with


_CUTS = frozenset(["TEXT", "FORALL", "COMMA", "AMP", "STOP", "TAG", "SEMI", "GAP", "ARROW"])


def segments_of(row: list[Tok]) -> list[Segment]:
    """A row cut at text, `\\forall`, wide gaps, commas and alignment marks outside brackets: (mark, word, tokens)."""
    out: list[Segment] = [("", "", [])]
    outside = {i for i, _ in depth_zero(row)}
    for i, token in enumerate(row):
        if token.kind not in _CUTS:
            out[-1][2].append(token)
        elif i in outside and token.kind in ("TEXT", "FORALL", "COMMA", "AMP", "STOP", "TAG", "SEMI"):
            out.append((token.kind, token.value if token.kind in ("TEXT", "TAG") else "", []))
        elif i in outside and token.kind == "GAP" and token.value in (r"\quad", r"\qquad"):
            out.append(("WIDE" if out[-1][0] in ("COMMA", "WIDE") and not out[-1][2] else "GAP", "", []))
        elif i in outside and token.kind == "ARROW" and out[-1][0]:
            out.append(("ARROW", "", [token]))  # `P \forall i \ne j \implies Q`: the condition ends here
        else:
            out[-1][2].append(token)
    return out


def written_ranges(segments: list[Segment]) -> set[int]:
    r"""The places of segments after a comma that are one range of an index together: `i = 1`, `\dots`, `n`."""
    out: set[int] = set()
    for place, (mark, _, segment) in enumerate(segments):
        kept = [t for t in segment if t.kind != "GAP"]
        starts = len(kept) >= 3 and (kept[0].kind, kept[1].kind, kept[1].value) == ("NAME", "REL", "=")
        if mark not in ("COMMA", "WIDE") or not starts or any(t.kind not in WHOLE for t in kept[2:]):
            continue
        end = place + 1
        while end < len(segments) and segments[end][0] == "COMMA" and all(t.kind == "NUM" for t in segments[end][2]):
            end += 1
        dots, last = segments[end : end + 1], segments[end + 1 : end + 2]
        if (
            all(s[0] == "COMMA" for s in (*dots, *last))
            and any([t.kind for t in s[2]] == ["DOTS"] for s in dots)
            and any(s[2] and all(t.kind in WHOLE for t in s[2]) for s in last)
        ):
            out |= set(range(place, end + 2))
    return out


def has_relation(tokens: list[Tok]) -> bool:
    """Whether a relation or an arrow stands outside all brackets."""
    return any(t.kind in ("REL", "ARROW") for _, t in depth_zero(tokens))


def is_relation(tokens: list[Tok]) -> bool:
    """Whether a segment is a relation of its own, with a left side."""
    return has_relation(tokens) and not starts_with_relation(tokens)


def leads_to_arrow(segments: list[Segment], place: int) -> bool:
    """Whether an implication follows a segment before any other words do."""
    for offset, (kind, word, segment) in enumerate(segments[place:]):
        if kind == "TEXT" and offset:
            return bare(word) in ARROWS
        if any(t.kind == "ARROW" for _, t in depth_zero(segment)):
            return True
    return False


def first_kind(tokens: list[Tok]) -> str:
    """The kind of the first token that is not a gap."""
    return next((t.kind for t in tokens if t.kind != "GAP"), "")


def starts_with_relation(tokens: list[Tok]) -> bool:
    """Whether a segment goes on with a side that stands before it."""
    return first_kind(tokens) in ("REL", "ARROW")


def is_condition(segment: list[Tok]) -> bool:
    """`i \\ne a`, `i \\in {..}`, `1 \\le i \\le n` or a lone index."""
    kept = [t for t in segment if t.kind not in ("GAP", "UNDER")]
    if not kept or any(t.kind == "ARROW" for t in kept) or any(t.kind == "REL" and t.value in ("=", "~") for t in kept):
        return False
    if len(kept) == 1 and kept[0].value.startswith(r"\text{"):
        return False  # a word
    relations = [t.value for t in kept if t.kind == "REL"]
    if "in" in relations:
        return (
            kept[0].kind == "NAME"
            and kept[1].kind in ("REL", "COMMA")
            and not any(t.value == r"\mathbb{R}" for t in kept)
        )
    simple = all(t.kind in ("NAME", "NUM", "REL", "DOTS") for t in kept) and len(kept) <= 5
    return simple and (not relations or set(relations) <= {"!=", "<", "<=", ">", ">="}) and len(kept) in (1, 3, 5)


def is_range(segment: list[Tok]) -> bool:
    r"""`i \in \{1, \dots, n\}`, `i \in [n]` or `1 \le i \le n`: what stands after a comma and a gap as well."""
    kept = [t for t in segment if t.kind != "GAP"]
    kinds = [(t.kind, t.value) for t in kept]
    if kinds[1:2] == [("REL", "in")]:
        inside = [t for t in kept[2:] if t.kind in ("COMMA", "SEMI")]
        return kinds[0][0] == "NAME" and (kept[2].kind == "LSET" or (kept[2].kind == "LBRACK" and not inside))
    return [k for k, _ in kinds] == ["NUM", "REL", "NAME", "REL", "NAME"] and kept[0].value == "1"


def is_case(segment: list[Tok]) -> bool:
    """`i = j`, `n = 1`: a case of a statement, if these are indices or sizes."""
    kept = [t for t in segment if t.kind != "GAP"]
    if [t.kind for t in kept] not in (["NAME", "REL", "NAME"], ["NAME", "REL", "NUM"]):
        return False
    return kept[1].value == "=" and kept[0].value.isalpha() and kept[0].value.islower()


def in_brackets(segment: list[Tok]) -> list[Tok]:
    """The relation in `(i = j)`, where the brackets hold nothing else; [] of anything else."""
    kept = [t for t in segment if t.kind != "GAP"]
    while kept and kept[-1].kind in ("STOP", "COMMA", "SEMI"):
        kept.pop()
    if len(kept) < 5 or (kept[0].kind, kept[-1].kind) != ("LPAR", "RPAR"):
        return []
    inside = kept[1:-1]
    depths = [i for i, _ in depth_zero(kept)]
    closed_early = any(0 < i < len(kept) - 1 for i in depths)
    return inside if not closed_early and any(t.kind == "REL" for _, t in depth_zero(inside)) else []


OPERATORS = ("PLUS", "TIMES")
GOES_ON = ("REL", "ARROW", "AND", "PLUS", "MINUS", "TIMES")  # what a complete statement does not end with


@dataclass
class Piece:
    """Tokens of one statement while the rows are read.

    `conditions` stood after "for" or the like; `offered` only stand after a comma, and may be claims, those
    `beside` it after a gap; `quoted` are formulas in reasons, each with the words before it; `tags` are lines, names
    and how many relations stand before each; `moves` is what stands after "as", `arrow` what an arrow says.
    """

    tokens: list[Tok] = field(default_factory=list)
    conditions: list[list[Tok]] = field(default_factory=list)
    offered: list[list[Tok]] = field(default_factory=list)
    beside: list[list[Tok]] = field(default_factory=list)
    quoted: list[tuple[str, list[Tok]]] = field(default_factory=list)
    tags: list[tuple[int, str, int]] = field(default_factory=list)
    unread_words: list[str] = field(default_factory=list)
    defines: bool = False
    moves: list[Tok] = field(default_factory=list)
    arrow: str = ""

    def relations(self) -> int:
        """How many relations it has by now."""
        return sum(t.kind in ("REL", "ARROW") for _, t in depth_zero(self.tokens))

    def last(self) -> Tok | None:
        """Its last token."""
        return next((t for t in reversed(self.tokens) if t.kind != "GAP"), None)

    def continues(self, segment: list[Tok], kind: str) -> bool:
        """Whether a segment after a mark of this kind goes on with the statement."""
        if not self.tokens or starts_with_relation(segment):
            return True
        last = self.last()
        if (last is not None and last.kind in GOES_ON) or first_kind(segment) in OPERATORS:
            return True
        if (
            first_kind(segment) == "MINUS"
            and kind in ("AMP", "TEXT", "")
            and (not has_relation(segment) or kind == "AMP")
        ):
            return True
        if kind in ("COMMA", "WIDE", "SEMI", "STOP") or (kind in ("GAP", "AMP", "NEXT") and self.relations()):
            return False
        return not (has_relation(segment) and self.relations())

r"""Rows of a display joined and cut into statements.

Rows that start with a relation go on with the row above, text joins, binds or gives a reason, `For j \ne a:` and
`\forall j \ne a` bind indices, `\tag{name}` names the step. Nothing is dropped: what belongs nowhere makes the display
unreadable.
"""

from __future__ import annotations

import re
from itertools import takewhile

from attention_core.derivation.document.segments import (
    ARROWS,
    BINDS,
    CHANGES,
    EQUALITY,
    GOES_ON,
    JOINS,
    OPENS_REASON,
    OPERATORS,
    WRITTEN_RELATION,
    Piece,
    bare,
    first_kind,
    has_relation,
    in_brackets,
    is_case,
    is_condition,
    is_range,
    is_relation,
    leads_to_arrow,
    segments_of,
    starts_with_relation,
    written_ranges,
)
from attention_core.derivation.document.side_notes import Note, take_note
from attention_core.derivation.latex.syntax import Unreadable
from attention_core.derivation.latex.tokens import CLOSING, OPENING, Tok, depth_zero

STRUCTURE = frozenset(["TEXT", "AMP", "NEWROW", "COMMA", "STOP", "TAG", "GAP", "SEMI", "FORALL", "MOVES"])


def rows_of(tokens: list[Tok]) -> list[list[Tok]]:
    """The rows of a display."""
    if not any(t.kind == "NEWROW" for t in tokens):
        return [tokens] if tokens else []
    rows: list[list[Tok]] = [[]]
    cut = {i for i, t in depth_zero(tokens) if t.kind == "NEWROW"}
    for i, token in enumerate(tokens):
        if i in cut:
            rows.append([])
        else:
            rows[-1].append(token)
    return [row for row in rows if row]


def without_empty_braces(tokens: list[Tok]) -> list[Tok]:
    """The tokens without `{}`, which only keeps the space around a sign, but where an index or exponent is missing."""
    kinds = ["", *[t.kind for t in tokens], ""]
    scripts = ("UNDER", "CARET", "TRANS")
    empty = {
        i for i, t in enumerate(tokens)
        if t.kind == "LBRACE" and kinds[i + 2] == "RBRACE"
        and kinds[i] not in scripts and kinds[i + 3] not in scripts
    }  # fmt: skip
    if not empty:
        return tokens
    return [t for i, t in enumerate(tokens) if i not in empty and i - 1 not in empty]


def _without_last_times(tokens: list[Tok]) -> list[Tok]:
    r"""The tokens without the last sign of `= 128\times`, which says that a number is a factor."""
    kinds = [t.kind for t in tokens if t.kind not in ("GAP", "STOP")]
    if kinds[-2:] != ["NUM", "TIMES"]:
        return tokens
    last = max(i for i, t in enumerate(tokens) if t.kind == "TIMES")
    return tokens[:last] + tokens[last + 1 :] if tokens[last].value == "*" else tokens


def _name_left_side(tokens: list[Tok]) -> list[Tok]:
    r"""The tokens with the words of `\text{statistical power} = 1 - \beta` as the name of what is equal."""
    kept = [t for t in tokens if t.kind != "GAP"][:2]
    if [t.kind for t in kept] != ["TEXT", "REL"] or re.search(r"[^A-Za-z0-9\"\x27 -]", kept[0].value):
        return tokens
    name = kept[0]._replace(kind="NAME", value=f"\\text{{{kept[0].value.strip()}}}")
    return [name if t is kept[0] else t for t in tokens]


def _labels_as_words(tokens: list[Tok]) -> list[Tok]:
    r"""The tokens with `\text{depth}: d = 2` as words in front of a statement, at the start of a row or of a part."""
    out, colons = list(tokens), set[int]()
    opens = True
    for i, token in depth_zero(tokens):
        named = token.kind == "TEXT" or (token.kind == "NAME" and token.value.startswith(r"\text{"))
        if opens and not named and (label := _numbered_label(tokens, i)):
            out[i] = token._replace(kind="TEXT", value=f"{label}:")
            end = next(k for k, t in enumerate(tokens) if k > i and t.kind == "COLON")
            colons |= set(range(i + 1, end + 1))
            opens = False
            continue
        behind = [(k, t) for k, t in enumerate(tokens[i + 1 : i + 5], i + 1) if t.kind not in ("GAP", "AMP")]
        if opens and named and behind and behind[0][1].kind == "COLON":
            place = behind[0][0]
            following = next((t for t in tokens[place + 1 :] if t.kind not in ("GAP", "AMP")), None)
            if following is not None and not following.value.startswith((r"\mathbb", r"\mathcal")):
                words = token.value.removeprefix(r"\text{").removesuffix("}")
                out[i] = token._replace(kind="TEXT", value=f"{words}:")
                colons |= {place, *(k for k in (place + 1,) if tokens[k].kind == "GAP")}
        opens = token.kind in ("NEWROW", "COMMA", "SEMI", "ARROW") or (opens and token.kind in ("GAP", "AMP"))
        opens = opens or (token.kind == "GAP" and token.value in (r"\quad", r"\qquad"))
    return [t for i, t in enumerate(out) if i not in colons]


def _numbered_label(tokens: list[Tok], place: int) -> str:
    r"""The label of `h_1: \quad x = y`, a letter with an index at a place and room after its colon; '' of others."""
    if tokens[place].kind != "NAME":
        return ""
    behind = list(takewhile(lambda t: t.kind in ("UNDER", "LBRACE", "NUM", "NAME", "RBRACE"), tokens[place + 1 :]))
    end = place + 1 + len(behind)
    kinds = [t.kind for t in tokens[end : end + 2]]
    wide = kinds == ["COLON", "GAP"] and tokens[end + 1].value in (r"\quad", r"\qquad")
    row = list(takewhile(lambda t: t.kind != "NEWROW", tokens[end:]))
    if not wide or not has_relation(row) or any(t.kind == "REL" and t.value == "->" for t in row):
        return ""
    return "".join(t.value for t in tokens[place:end] if t.kind in ("NAME", "NUM"))


def _maps_as_relations(tokens: list[Tok]) -> list[Tok]:
    r"""The tokens with the colon of `f : A \to B` as a relation."""
    out = list(tokens)
    outside = list(depth_zero(tokens))
    for k, (i, token) in enumerate(outside):
        row = takewhile(lambda one: one[1].kind != "NEWROW", outside[k + 1 :])
        if token.kind == "COLON" and i and any(t.kind == "REL" and t.value in ("->", "mapsto") for _, t in row):
            out[i] = token._replace(kind="REL", value=":")
            out = [t._replace(kind="NAME", value=f"\\text{{{t.value}}}") if t.kind == "FUNC" and j < i else t
                   for j, t in enumerate(out)]  # fmt: skip
    return out


def _without_brackets_of_last_side(tokens: list[Tok]) -> list[Tok]:
    r"""The tokens of `P = 100 \qquad (= 1)` without the brackets around what goes on."""
    kinds = [t.kind for t in tokens]
    if kinds[-1:] != ["RPAR"] or not has_relation(tokens):
        return tokens
    opened = max((i for i, t in depth_zero(tokens) if t.kind == "LPAR"), default=-1)
    if opened < 1 or kinds[opened - 1] != "GAP" or kinds[opened + 1] != "REL":
        return tokens
    return [*tokens[:opened], *tokens[opened + 1 : -1]]


def _range_first(tokens: list[Tok]) -> list[Tok]:
    r"""The tokens with the colon of `\forall x \in S: f(x) = 0` as room between the condition and the statement."""
    out, binds = list(tokens), False
    for i, token in depth_zero(tokens):
        if token.kind == "FORALL" or (token.kind == "TEXT" and bare(token.value) in BINDS):
            binds = not any(t.kind in ("REL", "ARROW") for t in takewhile(lambda t: t.kind != "NEWROW", out[:i][::-1]))
        elif token.kind == "NEWROW":
            binds = False
        elif token.kind == "COLON" and binds:
            out[i], binds = token._replace(kind="GAP", value=r"\quad"), False
    return out


def _without_colons(tokens: list[Tok]) -> list[Tok]:
    r"""The tokens without the colons in front of words, as in `T > 1: \text{a smoother distribution}`."""
    out = list(tokens)
    for i, token in depth_zero(tokens):
        behind = next((t.kind for t in tokens[i + 1 :] if t.kind not in ("GAP", "AMP")), "")
        if token.kind == "COLON" and behind == "TEXT":
            out[i] = token._replace(kind="GAP", value=r"\quad")
    return out


def _numbers_as_tags(tokens: list[Tok]) -> list[Tok]:
    r"""The tokens with the number of an equation, `\quad (12)` at the end of its row, as a tag."""
    if not any(t.kind == "RPAR" for t in tokens):
        return tokens
    cuts = [i for i, t in depth_zero(tokens) if t.kind == "NEWROW"]
    out: list[Tok] = []
    for start, end in zip([0, *cuts], [*cuts, len(tokens)], strict=True):
        row = tokens[start:end]
        kept = [i for i, t in enumerate(row) if t.kind not in ("STOP", "GAP")][-3:]
        number = [row[i] for i in kept]
        before = row[kept[0] - 1] if kept and kept[0] else None
        spaced = before is not None and before.kind == "GAP" and before.value in (r"\quad", r"\qquad")
        if spaced and [t.kind for t in number] == ["LPAR", "NUM", "RPAR"] and number[1].value.isdigit():
            tag = number[1]._replace(kind="TAG", value=f"({number[1].value})")
            row = [*row[: kept[0] - 1], tag, *row[kept[-1] + 1 :]] if has_relation(row) else row
        out += row
    return out


def _mark_rows(tokens: list[Tok]) -> list[Tok]:
    """The tokens with a new row at each line, where nothing else cuts the display and each line is a statement."""
    lines = sorted({t.line for t in tokens})
    if len(lines) < 2 or any(t.kind in ("NEWROW", "AMP", "ARROW", "TEXT", "FORALL") for t in tokens):
        return tokens
    rows = [[t for t in tokens if t.line == line] for line in lines]
    if not all(_is_whole_statement(row) for row in rows):
        return tokens
    out = list(rows[0])
    for row in rows[1:]:
        out += [Tok("NEWROW", "", row[0].line, row[0].start), *row]
    return out


def _is_whole_statement(row: list[Tok]) -> bool:
    """Whether a line has both sides of a relation, with every bracket closed in it."""
    kept = [t for t in row if t.kind not in ("GAP", "STOP", "TAG")]
    if (
        not kept
        or kept[0].kind in (*OPERATORS, "MINUS", "REL", "COMMA")
        or kept[-1].kind in (*GOES_ON, "COMMA", "SEMI")
    ):
        return False
    opened = sum(t.kind in OPENING for t in kept)
    return opened == sum(t.kind in CLOSING for t in kept) and has_relation(kept)


def split_statements(tokens: list[Tok], lenient: bool = False) -> list[Piece]:
    """The statements of a display; every token of a formula is in one of them, in a condition or in a reason.

    Args:
        tokens: The tokens of the display.
        lenient: Whether words before a formula that are not understood are kept with their statement, and not refused.
    """
    splitter = _Splitter(lenient)
    tokens = _mark_rows(_name_left_side(_without_last_times(without_empty_braces(tokens))))
    colons = any(t.kind == "COLON" for t in tokens)  # few displays have one: these passes are half of the time
    tokens = _range_first(tokens) if colons else tokens
    tokens = _numbers_as_tags(_without_brackets_of_last_side(tokens))
    tokens = _without_colons(_labels_as_words(_maps_as_relations(tokens))) if colons else tokens
    for row in rows_of(tokens):
        try:
            splitter.row(row)
        except Unreadable as error:
            raise Unreadable(error.message, error.line or row[0].line) from None
    kept = splitter.framed
    for piece in splitter.pieces:
        if not piece.tokens and (piece.conditions or piece.offered or piece.moves):
            stray = (piece.conditions or piece.offered or [piece.moves])[0]
            raise Unreadable("the conditions here belong to no statement: write the statement first", stray[0].line)
        if not piece.tokens and piece.quoted and any(one.tokens for one in splitter.pieces):
            words, formula = piece.quoted[0]
            message = f"the words '{words}' and the formula after them belong to no statement"
            raise Unreadable(
                f"{message}: write the formula first, or give the statement a row of its own", formula[0].line
            )
        parts = [
            piece.tokens,
            piece.moves,
            *piece.conditions,
            *piece.offered,
            *piece.beside,
            *(q for _, q in piece.quoted),
        ]
        kept |= {id(t) for part in parts for t in part}
    for token in tokens:
        if token.kind not in STRUCTURE and id(token) not in kept:
            raise Unreadable(
                f"'{token.value or token.kind.lower()}' belongs to no statement: give every statement a row of its own",
                token.line,
            )
    return [piece for piece in splitter.pieces if piece.tokens]


def refuse_claims(word: str) -> None:
    """Refuse words between formulas that claim something themselves, or turn what a formula claims."""
    if WRITTEN_RELATION.search(word):
        raise Unreadable(f"the words '{word}' hold a relation that is not read: write it as a formula outside \\text")
    if CHANGES.search(bare(word)):
        raise Unreadable(f"the words '{word}' change the meaning and are not understood; write it as a formula")


def _refuse_words(words: str) -> Unreadable:
    return Unreadable(
        f"the words '{words}' stand before a formula and are not understood: a reason starts with 'since' or 'by', "
        "another statement has a row of its own"
    )


class _Splitter:
    """Gathers the statements of one display row by row."""

    def __init__(self, lenient: bool) -> None:
        self.lenient = lenient
        self.pieces: list[Piece] = [Piece()]
        self.piece = self.pieces[0]  # that goes on
        self.latest: dict[int, Piece] = {}  # the last ones, by how many alignment marks stand in front of their parts
        self.own: list[Piece] = []  # those of the row
        self.framed: set[int] = set()  # the words and brackets of notes
        self.marks = 0  # how many alignment marks stand in the row so far
        self.binding = ""  # what the segments are: '' a statement, 'conditions', 'moves' or 'reason'
        self.words = ""  # of the reason
        self.opened = False  # whether the reason holds a formula
        self.leads = False  # whether the reason, or the conditions, stand first in their row
        self.bound = False  # whether a condition has been read after "for"
        self.fresh = True  # whether no formula of this row has been read
        self.apart = False  # whether room stands in front of the words that were read last
        self.premise = False  # whether an implication follows that this segment may be a premise of

    def row(self, tokens: list[Tok]) -> None:
        """Read one row."""
        self.binding, self.words, self.opened, self.fresh = "", "", False, True
        tokens, note = self.take_note(tokens)
        self.go_on(tokens)
        if self.opens_statement(tokens):
            self.add(Piece())
        arrows = [t for t in tokens if t.kind == "MOVES"]
        segments = segments_of([t for t in tokens if t.kind != "MOVES"])
        ranges = written_ranges(segments)
        for place, (kind, word, segment) in enumerate(segments):
            self.marks += kind == "AMP"
            if place in ranges and self.binding == "" and self.piece.relations():
                self.piece.offered.append(segment)
                continue
            if kind == "TAG":
                for piece in self.own:  # all statements of the row
                    piece.tags.append((self.last_line(tokens), word, piece.relations()))
            elif kind == "TEXT":
                before = segments[place - 1]
                self.apart = bool(place) and before[0] in ("GAP", "WIDE", "AMP") and not before[2]
                self.text(word, tokens)
            elif kind == "FORALL" and not (self.binding == "reason" and self.opened):
                self.binding, self.words, self.leads, self.bound = "conditions", "", self.fresh, False
            elif kind in ("AMP", "GAP", "WIDE") and self.binding == "conditions":
                self.binding = ""
            if kind in ("GAP", "WIDE") and self.fresh:
                kind = "AMP"  # `&\\qquad - c`: room before the first formula of a row says nothing
            elif kind == "AMP" and not self.fresh and self.marks % 2 == 0:
                kind = "NEXT"  # the next column of an alignment
            if first_kind(segment):
                if kind in ("AMP", "NEXT") and starts_with_relation(segment) and self.piece.relations():
                    self.switch(self.piece_at(self.marks))
                self.premise = leads_to_arrow(segments, place) and any(t is one for one in tokens for t in self.head())
                self.take(kind, segment)
                self.fresh = False
        for arrow in arrows:
            self.keep_limit(arrow)
        if note is not None:
            self.keep_note(note)

    def keep_limit(self, arrow: Tok) -> None:
        """Keep what moves on an arrow of the row with its statement."""
        for piece in self.own:
            if any(t.kind == "REL" and t.start == arrow.start for t in piece.tokens):
                if piece.arrow not in ("", arrow.value):
                    raise Unreadable("two limits in one chain: give each a row of its own", arrow.line)
                piece.arrow = arrow.value

    def go_on(self, row: list[Tok]) -> None:
        """Choose the statement that a row goes on with: that of its column, where it begins with a relation or a sign.

        What stands beside a statement, in another column, is not what the next row goes on with.
        """
        self.piece, self.own, self.marks = self.pieces[-1], [], 0
        head = next((i for i, t in enumerate(row) if t.kind not in ("AMP", "GAP")), None)
        if head is not None and self.piece.tokens and row[head].kind in ("REL", "ARROW", "MINUS", *OPERATORS):
            self.piece = self.piece_at(sum(t.kind == "AMP" for t in row[:head]))
        self.switch(self.piece)

    def piece_at(self, marks: int) -> Piece:
        """The last statement of a column: that of the part behind so many alignment marks, or the next one before."""
        before = [one for one in self.latest if one <= marks]
        return self.latest[max(before)] if before else self.piece

    def place_piece(self) -> None:
        """Note the column of the statement that goes on; a newer one takes the place of the one that was in it."""
        order = {id(one): place for place, one in enumerate(self.pieces)}
        replaced = self.latest.get(self.marks)
        if all(self.piece is not one for one in self.latest.values()):
            self.latest = {marks: one for marks, one in self.latest.items() if one is not replaced}
        if replaced is None or order[id(self.piece)] > order[id(replaced)]:
            self.latest[self.marks] = self.piece

    def switch(self, piece: Piece) -> None:
        """Go on with a statement."""
        self.piece = piece
        self.own += [] if any(piece is one for one in self.own) else [piece]

    def add(self, piece: Piece) -> None:
        """Begin a statement."""
        self.pieces.append(piece)
        self.switch(piece)

    def take_note(self, row: list[Tok]) -> tuple[list[Tok], Note | None]:
        """A row without the note beside it, and this note; its first words and its brackets belong to no statement."""
        rest, note = take_note(row)
        kept = {id(t) for t in (*rest, *(note.tokens if note else ()))}
        self.framed |= {id(t) for t in row} - kept
        return rest, note

    def keep_note(self, note: Note) -> None:
        """Keep the note beside a row with the reasons of its statement: each formula in it with the words before it."""
        runs = [(word or note.words, run) for _, word, run in segments_of(note.tokens) if first_kind(run)]
        for word in (note.words, *(t.value for _, t in depth_zero(note.tokens) if t.kind == "TEXT")):
            refuse_claims(word)
        if not note.known:
            if not self.lenient:
                raise _refuse_words(note.words)
            if has_relation(note.tokens):  # else the words are looked at as those without a formula are
                self.piece.unread_words.append(note.words if re.search(r"\w", note.words) else "a remark in brackets")
        self.piece.quoted += runs

    def head(self) -> list[Tok]:
        """The first token of the statement that is gathered, if it has no arrow by now."""
        piece = self.piece
        return piece.tokens[:1] if not any(t.kind == "ARROW" for t in piece.tokens) else []

    def opens_statement(self, row: list[Tok]) -> bool:
        """A row with a relation that does not start with one is a new statement, if the one above is complete."""
        piece = self.piece
        head = [t for t in row if t.kind not in ("AMP", "GAP")]
        if head and head[0].kind in ("TEXT", "FORALL"):
            binds = head[0].kind == "FORALL" or bare(head[0].value) in BINDS
            claims = any(has_relation(s) and not is_condition(s) for _, _, s in segments_of(row))
            return binds and claims and bool(piece.relations())
        if not piece.relations() or not head or starts_with_relation(head) or head[0].kind in OPERATORS:
            return False
        last = piece.last()
        complete = last is None or last.kind not in GOES_ON
        if head[0].kind == "MINUS" and row[0].kind == "AMP":
            return False  # `& - c = d` stands right of the alignment, as what goes on does
        if complete and not has_relation(head) and first_kind(head) not in (*STRUCTURE, "MINUS"):
            raise Unreadable(
                "a continued row starts with a relation or a sign: is this a product? write \\cdot at its start"
            )
        return complete and has_relation(head)

    def last_line(self, tokens: list[Tok]) -> int:
        """The line of the last relation in a row."""
        return max((t.line for t in tokens if t.kind in ("REL", "ARROW")), default=tokens[0].line)

    # -- words ----------------------------------------------------------------------------------------------------

    def text(self, word: str, row: list[Tok]) -> None:
        """Words between formulas: they join statements, bind indices or give a reason."""
        plain = bare(word)
        refuse_claims(word)
        if self.binding == "reason" and self.opened and plain not in JOINS[1:]:
            self.words = word  # a reason with a formula goes on with "and", "for" and the like
            return
        piece = self.piece
        if plain == "where" and not piece.tokens and any(t.kind == "REL" and t.value == ":=" for t in row):
            self.binding = ""  # a display that goes on with the prose above it
        elif plain in BINDS:
            self.binding, self.words, self.leads, self.bound = "conditions", plain, self.fresh, False
        elif plain in ("as",) and piece.relations():
            self.binding = "moves"
        elif plain in ("let", "put", "define"):
            self.fresh_piece()
            self.piece.defines = True
        elif plain in ARROWS and piece.tokens:
            self.binding = ""
            piece.tokens.append(Tok("ARROW", ARROWS[plain], piece.tokens[-1].line, piece.tokens[-1].start))
        elif plain == "and" and self.binding == "conditions":
            self.words = plain
        elif plain == "and" and self.is_beside(row):
            self.fresh_piece()
        elif plain == "and" and piece.tokens:
            self.binding = ""
            piece.tokens.append(Tok("AND", word, piece.tokens[-1].line, piece.tokens[-1].start))
        elif plain in JOINS:
            self.fresh_piece()
        elif word.endswith(":") and piece.relations() and not OPENS_REASON.search(plain):
            self.fresh_piece()  # `d = 2, \quad \text{width}: w = 3`
        elif plain == "or":
            raise Unreadable("'or' claims either of two statements, which is not understood: state them apart")
        elif self.fresh and (not OPENS_REASON.search(plain) or word.rstrip().endswith((",", ":"))):
            self.binding = ""  # "We have": words before a statement
            if piece.tokens and not starts_with_relation([t for t in row if t.kind not in ("TEXT", "AMP", "GAP")]):
                self.fresh_piece()
        else:
            self.binding, self.words, self.opened, self.leads = "reason", word, False, self.fresh

    def is_beside(self, row: list[Tok]) -> bool:
        """Whether words stand in another column than the statement before them, and no implication needs both."""
        arrow = any(t.kind == "ARROW" or (t.kind == "TEXT" and bare(t.value) in ARROWS) for t in row)
        return self.piece.relations() > 0 and self.latest.get(self.marks) is not self.piece and not arrow

    def fresh_piece(self) -> None:
        """What follows is a statement of its own."""
        if self.piece.tokens:
            self.add(Piece())
        self.binding = ""

    # -- formulas -------------------------------------------------------------------------------------------------

    def take(self, kind: str, segment: list[Tok]) -> None:
        """One run of formula tokens."""
        piece = self.piece
        if self.binding == "moves":
            if any(t.kind == "REL" and t.value == "->" for t in segment):
                piece.moves, self.binding, self.words, self.opened = segment, "reason", "as", False
                return
            self.binding, self.words, self.opened = "reason", "as", False
        if self.binding == "reason" and self.is_reason(kind, segment):
            piece.quoted.append((self.words, segment))
            self.opened, self.words = True, ""
            return
        if self.binding == "reason":
            self.binding = ""
        if self.binding == "conditions" and (kind in ("TEXT", "FORALL") or is_condition(segment)):
            if piece.tokens or not starts_with_relation(segment):
                listed = self.leads and (kind != "TEXT" or self.words == "and") and self.bound
                (piece.offered if listed else piece.conditions).append(segment)
                self.bound = True
                return
        elif self.binding == "" and piece.relations() and self.may_be_condition(kind, segment):
            beyond = kind in ("WIDE", "GAP") and not is_range(segment) and not in_brackets(segment)
            (piece.beside if beyond else piece.offered).append(segment)
            return
        self.binding = ""
        if self.premise and kind in ("COMMA", "GAP", "WIDE") and piece.relations() and is_relation(segment):
            piece.tokens.append(Tok("AND", ",", segment[0].line, segment[0].start))  # `a = 1, b = 2 \implies`
            piece.tokens += segment
        elif piece.continues(segment, kind):
            piece.tokens += segment
        else:
            self.add(Piece(tokens=list(segment)))
        self.place_piece()

    def may_be_condition(self, kind: str, segment: list[Tok]) -> bool:
        """Whether a relation beside a statement may be its condition: after a comma or a gap, or in brackets."""
        if kind == "COMMA":
            return is_condition(segment) or bool(in_brackets(segment) and not self.premise)
        last = self.piece.last()
        if self.premise:
            return False
        if kind not in ("WIDE", "GAP", "AMP", "NEXT") or self.fresh or (last is not None and last.kind in GOES_ON):
            return False
        if in_brackets(segment):
            return True
        return kind in ("WIDE", "GAP") and (is_range(segment) or is_condition(segment) or is_case(segment))

    def keep_unread(self, segment: list[Tok]) -> bool:
        """Keep words that are not understood; whether the formula after them belongs to them."""
        self.piece.unread_words.append(self.words)
        if not is_relation(segment):
            return True
        self.add(Piece(unread_words=[self.words]))
        return False

    def is_reason(self, kind: str, segment: list[Tok]) -> bool:
        """Whether a formula after a reason belongs to it."""
        first = first_kind(segment)
        if first in ("REL", "ARROW", *OPERATORS):
            return False
        if kind == "TEXT":
            known = OPENS_REASON.search(bare(self.words)) or EQUALITY.match(bare(self.words))
            if not self.opened and not known:
                if first == "MINUS":
                    return False
                last = self.piece.last()
                complete = self.piece.relations() and last is not None and last.kind not in GOES_ON
                if complete and self.apart and not has_relation(segment):
                    return True  # `a = b \quad \text{take $\log$ of both sides}`: a remark
                if self.lenient and self.piece.tokens:
                    return self.keep_unread(segment)
                raise _refuse_words(self.words)
            return True
        if not self.opened:
            return False
        # `since x = 1, y = 2` is one reason; where it stands before the statement, the comma ends it
        return not (self.leads and kind in ("COMMA", "GAP", "WIDE") and has_relation(segment))

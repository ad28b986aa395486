"""Declarations, definitions and hypotheses from prose with inline formulas.

Paragraphs that open with Let, Given, Assume, Suppose, Where, Draw, Define or Put: what they declare.
A relation that waits for its `for ...` becomes a hypothesis at the end of its sentence.
"""

from __future__ import annotations

import re

from attention_core.derivation.document.blocks import Paragraph
from attention_core.derivation.elaborate.expressions import Elaborator
from attention_core.derivation.elaborate.index_ranges import spread
from attention_core.derivation.latex.lexer import tokenize
from attention_core.derivation.latex.parse import parse_tokens
from attention_core.derivation.latex.printer import symbol_name, to_latex
from attention_core.derivation.latex.syntax import Chain, Expr, Name, Sub, Unreadable, names_in
from attention_core.derivation.latex.tokens import Tok, depth_zero
from attention_core.derivation.reading.assuming import Standing, clause_before, standings, words_before
from attention_core.derivation.reading.definitions import define, defines, words
from attention_core.derivation.reading.describe import describe, name_subjects, without_properties
from attention_core.derivation.reading.domains import domain_of
from attention_core.derivation.reading.memberships import bare_scalar, bounded_run, membership, random_symbols
from attention_core.derivation.reading.reader_state import Item, Pending, ReaderState
from attention_core.derivation.terms.context import Caveat, Context
from attention_core.derivation.terms.terms import ShapeMismatch
from attention_core.derivation.words.caveats import declared_names, shorten_quote
from attention_core.derivation.words.paragraphs import (
    BINDING,
    condition_parts,
    cut_at_commas,
    is_condition,
    says_domain,
)

MAX_FORMULAS = 1000  # of one paragraph that declares
_DECLARING = ("in", "sim", ":=")
_DECLARES = re.compile(r"\\(?:in|sim|coloneqq|triangleq)\b|:=")


def declare(context: Context, paragraph: Paragraph) -> None:
    """Read one paragraph into a context; sizes, then all domains, may be declared after their use."""
    kept, count = context.copy(), len(context.understood)
    first: Unreadable | None = None
    for early in ("", "sizes", "domains", ""):  # in the end what can be read as it stands is declared
        context.symbols, context.hypotheses = dict(kept.symbols), list(kept.hypotheses)
        context.dropped, context.caveats = dict(kept.dropped), list(kept.caveats)
        del context.understood[count:]
        last = first is not None and not early
        reader = Reader(context, paragraph, lenient=last)
        try:
            reader.read(early)
            if not reader.failed:
                return
        except Unreadable as error:
            first = first or error
    assert first is not None
    raise first


class Reader(ReaderState):
    """Reads one paragraph into a context."""

    def read(self, early: str = "") -> None:
        """Declare everything, sentence by sentence; `early` says which domains are declared before all else."""
        parts = re.split(r"(?<!\\)\$", self.paragraph.text)
        if len(parts) % 2 == 0:
            raise Unreadable("a $ is never closed in this paragraph", self.paragraph.line)
        if len(parts) // 2 > MAX_FORMULAS:
            line = self.paragraph.line + "".join(parts[: 2 * MAX_FORMULAS]).count("\n")
            raise Unreadable(f"the paragraph has more than {MAX_FORMULAS} formulas: split it above this line", line)
        line, binding = self.paragraph.line, False
        stand = standings(without_properties(parts))
        done = self.declare_early(parts, early, stand) if early else set()
        for place, part in enumerate(parts):
            if place in done:
                binding = False
            elif place % 2 == 0:
                words(self, describe(self, parts, place, line), line)
                binding = bool(BINDING.search(part.rstrip()))
            elif part.strip():
                self.standing, self.behind = stand[place], words_before(parts, place)
                self.clause = clause_before(parts, place)
                if binding and self.standing is Standing.SAID and is_condition(part, line):
                    self.leave_out(part, line)
                elif binding and self.pending:
                    self.bind(condition_parts(part, line), part, line)
                elif binding and self.law_index:
                    from attention_core.derivation.reading.domains import require_whole_range

                    symbol = self.context.symbols[self.drawn[-1]]
                    require_whole_range(self.context, symbol, condition_parts(part, line), line)
                elif binding and self.context.symbols and not self.pending and is_condition(part, line):
                    raise Unreadable(f"'for ${part}$' follows no hypothesis that it could belong to", line)
                else:
                    self.formula(part, line)
            if place % 2:
                name_subjects(self, parts, place, line)
            line += part.count("\n")
        self.settle()

    def declare_early(self, parts: list[str], early: str, stand: list[Standing]) -> set[int]:
        """Declare the formulas that only say where symbols live (`domains`), or only the `sizes` among them."""
        done: set[int] = set()
        for sizes in (True,) if early == "sizes" else (True, False):
            line = self.paragraph.line
            for place, part in enumerate(parts):
                bound = place % 2 and not sizes and BINDING.search(parts[place - 1].rstrip())
                declares = stand[place] is Standing.SAID
                if place % 2 and not bound and not declares and place not in done and says_domain(part, line, sizes):
                    self.formula(part, line)
                    done.add(place)
                line += part.count("\n")
        return done

    def bind(self, conditions: list[Chain], text: str, line: int) -> None:
        """`for $i \\ne j$` belongs to the hypotheses of this sentence that mention i or j."""
        names = {n for c in conditions for n in names_in(c) if n not in self.context.symbols}
        about = [one for one in self.pending if names and names <= names_in(one.chain)]
        about = about or [one for one in self.pending if names & names_in(one.chain)]
        if not about:
            raise Unreadable(f"'for ${text}$' follows no hypothesis that mentions its index", line)
        for one in about:
            one.conditions.extend(spread(conditions))

    def formula(self, text: str, line: int) -> None:
        """One inline formula."""
        try:
            pieces = cut_at_commas(tokenize(text, line))
        except Unreadable as error:
            self.pass_over(error, bool(_DECLARES.search(text)))
            return
        waiting: list[Expr] = []
        for tokens in pieces:
            self.bold = _bold(tokens) if not waiting else {**self.bold, **_bold(tokens)}
            try:
                statement = parse_tokens(tokens)
            except Unreadable as error:
                self.pass_over(error, any(t.kind == "REL" and t.value in _DECLARING for t in tokens))
                waiting = []
                continue
            if statement.arrows:
                raise Unreadable("an implication is not understood in a declaration", line)
            chain = statement.chains[0]
            if chain.alone:
                waiting.append(chain.exprs[0])
                continue
            item, waiting = Item([*waiting, chain.exprs[0]], chain), []
            try:
                self.item(item, text, tokens[0].line)
            except Unreadable as error:
                self.pass_over(error, chain.ops[0] in _DECLARING)
                for name in {symbol_name(e) for e in item.left} & set(self.context.symbols):
                    if name is not None and self.context.symbols[name].line < tokens[0].line:
                        self.context.forget(name, line)
        for expr in waiting:
            name = symbol_name(expr)
            if isinstance(expr, Sub) and _is_member(self.context, expr):
                continue  # "the keys $k_i$": any of them
            if name is not None and name not in self.context.symbols and isinstance(expr, Name | Sub):
                Elaborator(self.context, line=line).term(expr)  # an undeclared name says so

    def pass_over(self, error: Unreadable, declares: bool) -> None:
        """Go on behind a declaration that cannot be read; not behind a hypothesis, which must not be missed."""
        if not self.lenient or not declares:
            raise error
        self.failed.append(error)

    def item(self, item: Item, text: str, line: int) -> None:
        """One declaration, definition or hypothesis."""
        op = item.chain.ops[0]
        if self.is_only_stated(item, op, line):
            self.leave_out(to_latex(item.chain), line)
        elif op == "in" and len(item.chain.ops) == 1:
            self.settle()
            membership(self, item, text, line)
        elif op == "sim":
            self.settle()
            random_symbols(self, item, line)
        elif op == ":=" or (op == "=" and defines(self, item)):
            self.settle()
            define(self, item, text, line)
        elif (run := bounded_run(self, item, line)) is not None:
            self.pending.append(Pending(run, line, to_latex(item.chain), []))
        else:
            if len(item.left) > 1 and op == "=":
                raise Unreadable(f"'{text}': several symbols on the left of '=' are not understood", line)
            for expr in item.left:
                chain = Chain((expr, *item.chain.exprs[1:]), item.chain.ops, item.chain.lines)
                bare_scalar(self, chain, line)
                self.pending.append(Pending(chain, line, to_latex(chain), []))

    def is_only_stated(self, item: Item, op: str, line: int) -> bool:
        """Whether a relation is not an assumption; a symbol may be introduced behind any words, but not restated."""
        if op in ("in", "sim"):
            known = any(symbol_name(e) in self.context.symbols for e in item.left)
            return self.standing is Standing.SAID and (known or not _whole(self.context, item.chain.exprs[1], line))
        return op != ":=" and self.standing is not Standing.ASSUMED

    def leave_out(self, text: str, line: int) -> None:
        """Say that a relation is left out."""
        behind = f" (behind '{self.behind}')" if self.behind else ""
        advice = "a paragraph assumes behind Let, Assume, with, where, such that, and what these words carry on"
        self.context.understood.append((line, f"not assumed: ${text}${behind}: {advice}"))
        about = declared_names(self.context, text, line)
        if about:
            quote = shorten_quote(f"{self.clause} ${text}$")
            self.context.caveats.append(Caveat(line, quote, self.context.level, about, text))

    def define_chain(self, chain: Chain, text: str, line: int) -> None:
        """A definition that stands in a display."""
        define(self, Item([chain.exprs[0]], chain), text, line)


def _is_member(context: Context, expr: Sub) -> bool:
    """Whether an expression is a member of a declared family, whichever it is."""
    base = context.symbols.get(symbol_name(expr.base) or "")
    return base is not None and base.kind == "family"


def _whole(context: Context, expr: Expr, line: int) -> bool:
    """Whether a domain says no more than the kind of a symbol: no interval, no set of values, no law."""
    try:
        domain = domain_of(Elaborator(context, line=line), expr)
    except (Unreadable, ShapeMismatch):
        return True  # whoever declares says what is wrong
    return domain.lower is None and domain.upper is None and not domain.values


def _bold(tokens: list[Tok]) -> dict[str, bool]:
    """The letters left of the relation, outside scripts, and whether they are in bold."""
    out: dict[str, bool] = {}
    for i, token in depth_zero(tokens):
        if token.kind == "REL":
            break
        if token.kind == "NAME" and not (i and tokens[i - 1].kind in ("UNDER", "CARET")):
            out[token.value] = token.bold
    return out

# Paragraphs that open with Let, Given, Assume, Suppose, Where, Draw, Define or Put: what they declare.
# Words are read only as far as they change the meaning; one that does and is not known makes the paragraph unreadable.
"""Declarations, definitions and hypotheses from prose with inline formulas."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction

from attention_core.derivation.assuming import Standing, standings, words_before
from attention_core.derivation.declared import Context, Declared, Hypothesis, has_entries
from attention_core.derivation.display import _condition_chains
from attention_core.derivation.domains import Domain, domain_of
from attention_core.derivation.elaborate import Elaborator
from attention_core.derivation.elaborate_subscripts import index_items
from attention_core.derivation.functions import closed, function_form, require_known
from attention_core.derivation.hypotheses import all_names, defined, relations_of
from attention_core.derivation.index_ranges import inferred_range, spread
from attention_core.derivation.indicators import declared_as, entry_type_fits, extent, missing_index
from attention_core.derivation.parse import parse_tokens
from attention_core.derivation.source import Paragraph
from attention_core.derivation.syntax import (
    Chain,
    Dots,
    Expr,
    Group,
    Name,
    Num,
    Root,
    Sub,
    Sup,
    Times,
    Unreadable,
    names_in,
)
from attention_core.derivation.terms import SCALAR, ShapeMismatch, Size
from attention_core.derivation.tokens import Tok, depth_zero, tokenize
from attention_core.derivation.written import name_of, written

OPENERS = ("Let", "Given", "Assume", "Suppose", "Where", "where", "Draw", "Define", "Put")
MAX_FORMULAS = 1000  # of one paragraph that declares
_OPENING = re.compile(rf"^\s*({'|'.join(OPENERS)})\b(?!')")
_DEFINING = ("let", "put", "define", "where")
_DECLARING = ("in", "sim", ":=")
_DECLARES = re.compile(r"\\(?:in|sim|coloneqq|triangleq)\b|:=")
_BINDING = re.compile(r"\b(for all|for every|for each|for any|for|whenever|if)\s*$", re.IGNORECASE)
_MEANING = re.compile(
    r"\b(not|unless|except|never|neither|nor|no|without|symmetric|invertible|diagonal|positive definite|orthogonal|"
    r"orthonormal|perpendicular|parallel|unit|integers?|even|odd|nonzero|non-zero|increasing|sorted|correlated|"
    r"dependent|identically|iid|uniformly|either|or|almost|approximately|some|exists?|singular|semidefinite)\b",
    re.IGNORECASE,
)
_ADVICE = {
    "orthogonal": r"write $k_i^\top k_j = 0$ for $i \ne j$",
    "orthonormal": r"write $A^\top A = I_m$",
    "perpendicular": r"write $k_i^\top k_j = 0$ for $i \ne j$",
    "symmetric": r"write $A = A^\top$",
    "unit": r"write $\|x\| = 1$",
    "nonzero": r"write $x \ne 0$",
    "non-zero": r"write $x \ne 0$",
    "not": "write the condition as a formula, such as $x \\ne 0$",
}


def is_declaration(paragraph: Paragraph) -> bool:
    """Whether a paragraph declares something."""
    return bool(_OPENING.match(paragraph.text)) and "$" in paragraph.text


def going_on(paragraph: Paragraph) -> Paragraph | None:
    """What a paragraph right behind a display declares for it: "where ...", or "with $m \\in \\mathbb{N}$"."""
    if re.match(r"[\s,;]*[Ww]here\b", paragraph.text):
        return paragraph if "$" in paragraph.text else None
    parts = re.split(r"(?<!\\)\$", paragraph.text)
    if not re.match(r"[\s,;]*(with|for|for all|for every|for any|given|assuming)\s*$", parts[0]):
        return None
    if len(parts) % 2 == 0 or not all(_says_domain(part, paragraph.line, False) for part in parts[1::2]):
        return None
    return Paragraph(paragraph.line, "\n" * parts[0].count("\n") + "where $" + "$".join(parts[1:]))


def declared_later(paragraphs: list[Paragraph], name: str) -> int:
    """The line of the first of these paragraphs that says where a symbol lives, 0 if none does."""
    for paragraph in paragraphs:
        for part in re.split(r"(?<!\\)\$", paragraph.text)[1::2]:
            try:
                chains = [parse_tokens(tokens).chains[0] for tokens in _pieces(tokenize(part, paragraph.line))]
            except (Unreadable, RecursionError):
                continue
            if any(c.ops[:1] in (("in",), ("sim",), (":=",)) for c in chains):
                left = [e for c in chains if c.ops[:1] in ((), ("in",), ("sim",), (":=",)) for e in c.exprs[:1]]
                if name in {name_of(e) for e in left}:
                    return paragraph.line
    return 0


@dataclass
class _Item:
    """One comma-separated piece of an inline formula: what stands left of its relation, and the chain."""

    left: list[Expr]
    chain: Chain
    arrows: bool = False


@dataclass
class _Pending:
    """A hypothesis that waits for its `for ...`."""

    chain: Chain
    line: int
    text: str
    conditions: list[Chain]


def declare(context: Context, paragraph: Paragraph) -> None:
    """Read one paragraph into a context; sizes, then all domains, may be said after their use."""
    kept, told = context.copy(), len(context.understood)
    first: Unreadable | None = None
    for early in ("", "sizes", "domains", ""):  # in the end what can be read as it stands is declared
        context.symbols, context.hypotheses = dict(kept.symbols), list(kept.hypotheses)
        context.dropped = dict(kept.dropped)
        del context.understood[told:]
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


class Reader:
    """Reads one paragraph into a context."""

    def __init__(self, context: Context, paragraph: Paragraph, lenient: bool = False) -> None:
        self.context, self.paragraph = context, paragraph
        self.lenient = lenient  # a symbol whose declaration cannot be read stays undeclared; the rest is read
        self.failed: list[Unreadable] = []
        self.pending: list[_Pending] = []
        self.drawn: list[str] = []
        self.indices: list[str] = []
        self.verb = "let"
        self.sentence = 0
        self.law_index = ""
        self.standing = Standing.ASSUMED  # of the formula that is read
        self.bold: dict[str, bool] = {}  # whether the letters that a piece declares are in bold
        self.behind = ""  # the words it stands behind

    def read(self, early: str = "") -> None:
        """Declare everything, sentence by sentence; `early` says which domains are declared before all else."""
        parts = re.split(r"(?<!\\)\$", self.paragraph.text)
        if len(parts) % 2 == 0:
            raise Unreadable("a $ is never closed in this paragraph", self.paragraph.line)
        if len(parts) // 2 > MAX_FORMULAS:
            line = self.paragraph.line + "".join(parts[: 2 * MAX_FORMULAS]).count("\n")
            raise Unreadable(f"the paragraph has more than {MAX_FORMULAS} formulas: split it above this line", line)
        line, binding = self.paragraph.line, False
        stand = standings(parts)
        done = self.declare_early(parts, early, stand) if early else set()
        for place, part in enumerate(parts):
            if place in done:
                binding = False
            elif place % 2 == 0:
                self.words(part, line)
                binding = bool(_BINDING.search(part.rstrip()))
            elif part.strip():
                self.standing, self.behind = stand[place], words_before(parts, place)
                if binding and self.standing is Standing.SAID and _is_condition(part, line):
                    self.not_assumed(part, line)
                elif binding and self.pending:
                    self.bind(_condition_parts(part, line), part, line)
                elif binding and self.law_index:
                    from attention_core.derivation.drawing import require_whole_range

                    symbol = self.context.symbols[self.drawn[-1]]
                    require_whole_range(self.context, symbol, _condition_parts(part, line), line)
                elif binding and self.context.symbols and not self.pending and _is_condition(part, line):
                    raise Unreadable(f"'for ${part}$' follows no hypothesis that it could belong to", line)
                else:
                    self.formula(part, line)
            line += part.count("\n")
        self.settle()

    def declare_early(self, parts: list[str], early: str, stand: list[Standing]) -> set[int]:
        """Declare the formulas that only say where symbols live (`domains`), or only the `sizes` among them."""
        done: set[int] = set()
        for sizes in (True,) if early == "sizes" else (True, False):
            line = self.paragraph.line
            for place, part in enumerate(parts):
                bound = place % 2 and not sizes and _BINDING.search(parts[place - 1].rstrip())
                said = stand[place] is Standing.SAID
                if place % 2 and not bound and not said and place not in done and _says_domain(part, line, sizes):
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

    # -- words ----------------------------------------------------------------------------------------------------

    def words(self, text: str, line: int) -> None:
        """Prose between formulas."""
        found = _MEANING.search(text)
        if found:
            word = found.group().lower()
            advice = _ADVICE.get(word, "say it with a formula, or leave the sentence out of this paragraph")
            raise Unreadable(
                f"the word '{found.group()}' changes the meaning and is not understood here: {advice}", line
            )
        if re.search(r"\bindependent(ly)?\b", text):
            for name in self.drawn:
                symbol = self.context.symbols[name]
                assert symbol.law is not None
                self.context.symbols[name] = replace(symbol, law=replace(symbol.law, independent=True))
        if re.search(r"\bbroadcast\b", text):
            self.context.broadcast = self.context.level
            self.context.understood.append((line, "sums are broadcast"))
        if re.search(r"\bdistinct\b", text):
            self.distinct(line)
        if re.search(r"[.;]\s|[.;]$", text):
            self.drawn, self.law_index, self.sentence = [], "", self.sentence + 1
        if re.search(r"[.;]\s|[.;]$|\bwith\b|\band let\b", text) and not _BINDING.search(text.rstrip()):
            self.settle()
        for word in re.findall(r"[A-Za-z]+", text):
            if word in OPENERS or word.lower() in (*_DEFINING, "given", "assume", "suppose", "draw"):
                self.verb = word.lower()

    def distinct(self, line: int) -> None:
        """The indices declared last differ from each other."""
        for place, left in enumerate(self.indices):
            for right in self.indices[place + 1 :]:
                chain = Chain((Name(left), Name(right)), ("!=",), (line,))
                self.pending.append(_Pending(chain, line, f"{left} \\ne {right}", []))

    # -- formulas -------------------------------------------------------------------------------------------------

    def formula(self, text: str, line: int) -> None:
        """One inline formula."""
        try:
            pieces = _pieces(tokenize(text, line))
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
            item, waiting = _Item([*waiting, chain.exprs[0]], chain), []
            try:
                self.item(item, text, tokens[0].line)
            except Unreadable as error:
                self.pass_over(error, chain.ops[0] in _DECLARING)
                for name in {name_of(e) for e in item.left} & set(self.context.symbols):
                    if name is not None and self.context.symbols[name].line < tokens[0].line:
                        self.context.forget(name, line)
        for expr in waiting:
            name = name_of(expr)
            if name is not None and name not in self.context.symbols and isinstance(expr, Name | Sub):
                Elaborator(self.context, line=line).term(expr)  # an undeclared name says so

    def pass_over(self, error: Unreadable, declares: bool) -> None:
        """Go on behind a declaration that cannot be read; not behind a hypothesis, which must not be missed."""
        if not self.lenient or not declares:
            raise error
        self.failed.append(error)

    def item(self, item: _Item, text: str, line: int) -> None:
        """One declaration, definition or hypothesis."""
        op = item.chain.ops[0]
        if self.only_said(item, op, line):
            self.not_assumed(written(item.chain), line)
        elif op == "in" and len(item.chain.ops) == 1:
            self.settle()
            self.membership(item, text, line)
        elif op == "sim":
            self.settle()
            self.law(item, line)
        elif op == ":=" or (op == "=" and self.defines(item)):
            self.settle()
            self.define(item, text, line)
        else:
            if len(item.left) > 1 and op == "=":
                raise Unreadable(f"'{text}': several symbols on the left of '=' are not understood", line)
            for expr in item.left:
                chain = Chain((expr, *item.chain.exprs[1:]), item.chain.ops, item.chain.lines)
                self.bare_scalar(chain, line)
                self.pending.append(_Pending(chain, line, written(chain), []))

    def only_said(self, item: _Item, op: str, line: int) -> bool:
        """Whether a relation is no assumption; a symbol may be introduced behind any words, but not restated."""
        if op in ("in", "sim"):
            known = any(name_of(e) in self.context.symbols for e in item.left)
            return self.standing is Standing.SAID and (known or not _whole(self.context, item.chain.exprs[1], line))
        return op != ":=" and self.standing is not Standing.ASSUMED

    def not_assumed(self, text: str, line: int) -> None:
        """Say that a relation is left out."""
        behind = f" (behind '{self.behind}')" if self.behind else ""
        advice = "a paragraph assumes behind Let, Assume, with, where, such that, and what these words carry on"
        self.context.understood.append((line, f"not assumed: ${text}${behind}: {advice}"))

    def defines(self, item: _Item) -> bool:
        """Whether `=` defines: after Let or Put with an undeclared symbol on the left."""
        form = function_form(item.left[-1])
        squared = _squared(item.left[-1])
        if form or squared:
            fresh = (form[0] if form else squared) not in self.context.symbols
            return fresh and self.verb in _DEFINING and len(item.left) == 1 and len(item.chain.ops) == 1
        name = name_of(item.left[-1])
        if self.verb not in _DEFINING or name is None or len(item.left) > 1 or len(item.chain.ops) > 1:
            return False
        known, target = self.context.symbols, item.left[-1]
        root = known.get(name_of(target.base) or "") if isinstance(target, Sub) else None
        if name in known:
            return False
        if root is None or not isinstance(target, Sub):
            return True
        return root.kind != "family" and index_items(Elaborator(self.context), target.items) is None

    def bare_scalar(self, chain: Chain, line: int) -> None:
        """`\\sigma > 0` declares a number."""
        name = name_of(chain.exprs[0])
        indexed = isinstance(chain.exprs[0], Sub) and name_of(chain.exprs[0].base) in self.context.symbols
        if name is None or name in self.context.symbols or indexed or chain.ops[0] not in ("<", "<=", ">", ">=", "!="):
            return
        self.declare(Declared(name, "array", line, self.context.level, SCALAR), f"{name} is a number")

    def declare(self, symbol: Declared, text: str) -> None:
        """Add a symbol; a letter in bold and the same letter plain are one name, so only one of them is declared.

        Raises:
            Unreadable: the other one is declared; or its domain would drop the law it has in this paragraph.
        """
        if self.keeps_its_law(symbol):
            return
        bold = self.bold.get(re.split(r"_|\^\{\(", symbol.name)[0])
        before = self.context.symbols.get(symbol.name)
        if before is not None and None not in (bold, before.bold) and bold != before.bold:
            self.context.forget(symbol.name, symbol.line)
            raise Unreadable(
                f"{symbol.name} in bold and {symbol.name} plain (line {before.line}) are both declared, and bold is "
                "read as style: name one of them by another letter",
                symbol.line,
            )
        symbol = replace(symbol, bold=bold)
        self.context.declare(symbol)
        self.context.understood.append((symbol.line, text))

    def keeps_its_law(self, symbol: Declared) -> bool:
        r"""Whether a domain only repeats that of a symbol drawn here: `x \sim ...` with `x \in \mathbb{R}^d`.

        Raises:
            Unreadable: it says something else.
        """
        before = self.context.symbols.get(symbol.name)
        if before is None or before.law is None or before.line < self.paragraph.line:
            return False
        if symbol.law is not None or symbol.term is not None or symbol.body is not None:
            return False
        plain = symbol.lower is None and symbol.upper is None and not symbol.values
        if plain and (symbol.kind, symbol.type) == (before.kind, before.type) and symbol.lowest == before.lowest:
            self.context.understood.append((symbol.line, f"{symbol.name}: random as above, its domain repeated"))
            return True
        raise Unreadable(
            f"{symbol.name} is drawn from a law in line {before.line}, as {before.type}, and another domain would drop "
            "the law: say the domain before the law, or nothing",
            symbol.line,
        )

    # -- membership -----------------------------------------------------------------------------------------------

    def membership(self, item: _Item, text: str, line: int) -> None:
        """`x, y \\in ...`."""
        elab = Elaborator(self.context, line=line)
        domain = domain_of(elab, item.chain.exprs[1])
        left = list(item.left)
        if len(left) == 1 and isinstance(left[0], Group) and left[0].bracket == "{":
            left = [c.exprs[0] for c in left[0].items]
        if domain.kind == "index":
            self.indices = []
        place = 0
        while place < len(left):
            dots = next((k for k in range(place + 1, len(left) - 1) if isinstance(left[k], Dots)), None)
            if dots is not None and self.family_run(left, place, dots, domain, line):
                place = dots + 2
                continue
            self.symbol(left[place], domain, line, text)
            place += 1

    def family_run(self, left: list[Expr], start: int, dots: int, domain: Domain, line: int) -> bool:
        """`v_1, \\dots, v_n`: a family, if what stands before the dots belongs to one."""
        first, last = left[start], left[dots + 1]
        if not (isinstance(first, Sub) and isinstance(last, Sub) and first.base == last.base):
            return False
        if any(not (isinstance(e, Sub) and e.base == first.base) for e in left[start:dots]):
            return False
        elab = Elaborator(self.context, line=line)
        low, high = elab.size(first.items[0].exprs[0]), elab.size(last.items[0].exprs[0])
        name = name_of(first.base)
        if name is None or domain.type is None:
            raise Unreadable(f"'{written(first)}, ..., {written(last)}' is not understood as a family", line)
        mentions = frozenset(high.symbols() | low.symbols() | domain.mentions)
        self.declare(
            Declared(name, "family", line, self.context.level, domain.type, low, high, domain.lower, domain.upper,
                     domain.values, mentions=mentions),
            f"{name}_{low}, ..., {name}_{high}: a family, each {domain}",
        )  # fmt: skip
        return True

    def symbol(self, expr: Expr, domain: Domain, line: int, text: str) -> None:
        """One symbol with its domain."""
        name = name_of(expr)
        if name is None:
            two = isinstance(expr, Times) and not any(expr.ops)
            advice = ": it is read as a product; write one symbol, such as W_\\Delta for \\Delta W" if two else ""
            raise Unreadable(f"'{written(expr)}' is not a symbol that can be declared{advice}", line)
        family = self.context.symbols.get(name_of(expr.base) or "") if isinstance(expr, Sub) else None
        if isinstance(expr, Sub) and family is not None and (has_entries(family)):
            items = index_items(Elaborator(self.context, line=line), expr.items)
            if items is not None:
                raise Unreadable(f"{written(expr)} is a part of {family.name}, which is declared already", line)
            letter = missing_index(self.context, expr)
            scalar = domain.type is not None and domain.type.scalar
            if letter and domain.kind == "array" and entry_type_fits(family, expr, scalar):
                raise Unreadable(
                    f"{written(expr)} is an entry of {family.name} (line {family.line}), not a symbol of its own: "
                    f"leave this out, and where it is used {declared_as(letter, extent(family, expr, letter))}",
                    line,
                )
        if domain.kind == "index":
            self.indices.append(name)
        mentions = frozenset(domain.mentions)
        self.declare(
            Declared(name, domain.kind, line, self.context.level, domain.type, domain.lowest, domain.highest,
                     domain.lower, domain.upper, domain.values, mentions=mentions),
            f"{name}: {domain}",
        )  # fmt: skip

    def law(self, item: _Item, line: int) -> None:
        """`q, k \\sim \\mathcal{N}(\\mu, \\sigma^2 I_d)` and families, see `drawing`."""
        from attention_core.derivation.drawing import drawn_symbols

        self.law_index = ""
        for symbol, relations in drawn_symbols(self.context, item.left, item.chain.exprs[1], line):
            assert symbol.law is not None
            joint = self.paragraph.line * 1000 + self.sentence
            self.declare(
                replace(symbol, law=replace(symbol.law, joint=joint)),
                f"{symbol.name}: random, {symbol.type}, {symbol.law.name}",
            )
            self.drawn.append(symbol.name)
            self.law_index = symbol.law.index
            for relation in relations:
                about = symbol.mentions | {symbol.name}
                self.context.assume(Hypothesis(relation, line, self.context.level, f"the law of {symbol.name}", about))

    # -- definitions and hypotheses -------------------------------------------------------------------------------

    def define_chain(self, chain: Chain, text: str, line: int) -> None:
        """A definition that stands in a display."""
        self.define(_Item([chain.exprs[0]], chain), text, line)

    def define(self, item: _Item, text: str, line: int) -> None:
        """`M := 2 A A^\\top`, also with indices: `\\alpha_i := ...`."""
        left, right = item.left[-1], item.chain.exprs[-1]
        self.context.applied = 0
        elab = Elaborator(self.context, line=line)
        form, squared = function_form(left), _squared(left)
        if form is not None and len(item.chain.ops) == len(item.left) == 1:
            self.define_function(form, right, line)
            return
        if squared:
            assert isinstance(left, Sup)
            left, right = left.base, Root(right)
        name, params = defined(elab, left, right)
        if name is None or item.chain.ops not in (("=",), (":=",)) or len(item.left) != 1:
            raise Unreadable(f"'{text}' is not understood as a definition: write 'Put $M := ...$'", line)
        ranges: list[tuple[Size, Size]] = []
        for param in params:
            ranges.append(inferred_range(elab, param, right))
            elab.bound[param] = None
        if name in names_in(right) and name in self.context.symbols and self.context.symbols[name].kind != "definition":
            raise Unreadable(f"{name} is defined by itself", line)
        try:
            term = elab.term(right)
        except ShapeMismatch as error:
            raise Unreadable(f"in the definition of {name}: {error}", line) from None
        low, high = ranges[0] if ranges else (None, None)
        about = frozenset(all_names(right) - set(params))
        place = (name, "definition", line, self.context.level)
        symbol = Declared(*place, None, low, high, term=term, params=tuple(params), mentions=about)
        self.declare(symbol, f"{name} is defined as {written(right)}, {term.type}")

    def define_function(self, form: tuple[str, tuple[str, ...]], right: Expr, line: int) -> None:
        """`f(t) := ...`."""
        name, params = form
        elab = Elaborator(self.context, line=line)
        require_known(elab, right, params)
        if name in names_in(right):
            raise Unreadable(f"{name} is defined by itself", line)
        about = frozenset(all_names(right) - set(params))
        body = closed(self.context, right, params)
        symbol = Declared(name, "function", line, self.context.level, params=params, body=body, mentions=about)
        self.declare(symbol, f"{name}({', '.join(params)}) is defined as {written(right)}")

    def settle(self) -> None:
        """Turn pending relations into hypotheses."""
        pending, self.pending = self.pending, []
        for one in pending:
            for relation in relations_of(self.context, one.chain, one.conditions, one.line, separate=True):
                if relation.op in ("~", ">>", "<<"):
                    raise Unreadable(f"'{one.text}' says nothing exact: write an inequality", one.line)
                bound = {
                    name for name, _, _ in relation.over
                }  # a letter of its own: declaring it later changes nothing
                named = all_names(one.chain) | {n for c in one.conditions for n in all_names(c)}
                mentions = frozenset(named - bound)
                hypothesis = Hypothesis(relation, one.line, self.context.level, one.text, mentions)
                self.context.assume(hypothesis)
            where = " for " + ", ".join(written(c) for c in one.conditions) if one.conditions else ""
            self.context.understood.append((one.line, f"assumed: {one.text}{where}"))


def _squared(expr: Expr) -> str:
    r"""The name in `\sigma^2`, which defines sigma as the root; '' of anything else."""
    return (name_of(expr.base) or "") if isinstance(expr, Sup) and expr.exponent == Num(Fraction(2)) else ""


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


def _pieces(tokens: list[Tok]) -> list[list[Tok]]:
    """Tokens cut at commas outside brackets."""
    cuts = [
        i for i, t in depth_zero(tokens) if t.kind in ("COMMA", "STOP", "SEMI") or (t.kind == "GAP" and "q" in t.value)
    ]
    out, start = [], 0
    for cut in [*cuts, len(tokens)]:
        piece = tokens[start:cut]
        if any(t.kind != "GAP" for t in piece):
            out.append(piece)
        start = cut + 1
    return out


def _condition_parts(text: str, line: int) -> list[Chain]:
    return [chain for tokens in _pieces(tokenize(text, line)) for chain in _condition_chains(tokens)]


def _says_domain(text: str, line: int, sizes: bool) -> bool:
    """Whether a formula only says where symbols live, as sizes if that is asked."""
    try:
        chains = [parse_tokens(tokens).chains[0] for tokens in _pieces(tokenize(text, line))]
    except (Unreadable, RecursionError):
        return False
    said = [chain for chain in chains if not chain.alone]
    return bool(said) and all(c.ops == ("in",) and (not sizes or c.exprs[1] == Name(r"\mathbb{N}")) for c in said)


def _is_condition(text: str, line: int) -> bool:
    try:
        return any(not c.alone for c in _condition_parts(text, line))
    except Unreadable:
        return False

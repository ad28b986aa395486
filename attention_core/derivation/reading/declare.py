r"""Declarations, definitions and hypotheses from prose with inline formulas.

Paragraphs that open with Let, Given, Assume, Suppose, Where, Draw, Define or Put: what they declare.
A relation that waits for its `for ...` becomes a hypothesis at the end of its sentence.

What a symbol or a function stands for: `M := 2 A A^\top`, `\alpha_i := ...`, `f(t) := ...`, `\sigma^2 := ...`.
After Let, Put, Define and Where an equation defines a symbol that is not known yet.

A word between the formulas of a declaration that changes its meaning and is not known makes the paragraph unreadable.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from attention_core.derivation.document.blocks import KEPT_SENTENCES, Paragraph
from attention_core.derivation.elaborate.expressions import Elaborator
from attention_core.derivation.elaborate.functions import function_form, rename_bound_indices, require_used_parameters
from attention_core.derivation.elaborate.hypotheses import find_defined_name, relations_of
from attention_core.derivation.elaborate.index_ranges import inferred_range, spread
from attention_core.derivation.elaborate.indicators import entry_type_fits, missing_index
from attention_core.derivation.elaborate.sample_families import defined_member, write_run, write_samples
from attention_core.derivation.elaborate.subscripts import index_items
from attention_core.derivation.latex.printer import all_names, symbol_name, to_latex
from attention_core.derivation.latex.syntax import Chain, Expr, Minus, Name, Num, Root, Sub, Sup, Unreadable, names_in
from attention_core.derivation.latex.tokens import Tok, depth_zero
from attention_core.derivation.reading.any_function import declare_function, functions_in
from attention_core.derivation.reading.any_loss import loss_in, loss_of
from attention_core.derivation.reading.assuming import Standing
from attention_core.derivation.reading.complex_numbers import declare_complex, split_definition
from attention_core.derivation.reading.conditional_relations import find_conditional
from attention_core.derivation.reading.describe import describe, name_subjects
from attention_core.derivation.reading.domains import domain_of, require_space
from attention_core.derivation.reading.imaginary_unit import take_unit
from attention_core.derivation.reading.independence import state_independence
from attention_core.derivation.reading.listed_values import lists_values
from attention_core.derivation.reading.memberships import (
    bare_scalar,
    bounded_modulus,
    bounded_run,
    bounded_scalars,
    introduce,
    membership,
    random_symbols,
)
from attention_core.derivation.reading.modified_definitions import find_change
from attention_core.derivation.reading.reader_state import Item, Pending, ReaderState
from attention_core.derivation.reading.recursions import take_recursions
from attention_core.derivation.reading.surroundings import DECLARES, Surroundings, surroundings_of
from attention_core.derivation.reading.witnesses import take_witnesses
from attention_core.derivation.terms.context import Caveat, Context, Symbol
from attention_core.derivation.terms.same_sizes import with_same_sizes
from attention_core.derivation.terms.terms import ShapeMismatch, Size
from attention_core.derivation.words.caveats import declared_names, is_goal, shorten_quote
from attention_core.derivation.words.paragraphs import (
    BINDING,
    OPENERS,
    condition_parts,
    is_condition,
    read_pieces,
    says_domain,
)

if TYPE_CHECKING:
    from attention_core.derivation.reading.reader_state import Item, ReaderState


MAX_FORMULAS = 1000  # of one paragraph that declares
ASSUMES = "a paragraph assumes what follows Let, Assume, with, where, such that, and what these words carry on"
UNDER_CONDITION = "a sentence that states one relation under another assumes neither of them"
_EQUATES = re.compile(r"(?<![<>])=|\\(?:coloneqq|triangleq)(?![a-zA-Z])")
_FOR_SOME = re.compile(
    r"\s*for (?:at (?:least|most)|exactly|precisely|only|just|(?:all|every|each) but|almost (?:all|every)|some|most|"
    r"many|few|a few|one|two|three|infinitely many)\b",
    re.IGNORECASE,
)
_FOR_ALL = re.compile(r"\bfor (?:all|every|each|any)\s*$", re.IGNORECASE)
_DECLARING = ("in", "sim", ":=")


def declare(context: Context, paragraph: Paragraph, infer: bool = False) -> None:
    """Read one paragraph into a context; sizes, then all domains, may be declared after their use.

    Args:
        context: What is declared; it is changed.
        paragraph: The paragraph.
        infer: Whether a letter that nothing declares is a size where only a size can stand, as in \\mathbb{R}^n.
    """
    first: Unreadable | None = None
    orders = ("", "sizes", "domains")
    attempts = [(early, False, False) for early in orders] + [(early, True, False) for early in orders if infer]
    attempts += [("", infer, True)]  # in the end what can be read as it stands is declared
    kept, count = context.copy(), len(context.understood)
    for early, opens, lenient in attempts:
        context.symbols, context.hypotheses = dict(kept.symbols), list(kept.hypotheses)
        context.dropped, context.caveats = dict(kept.dropped), list(kept.caveats)
        context.recursions, context.inferred = dict(kept.recursions), dict(kept.inferred)
        context.imaginary, context.unit = kept.imaginary, kept.unit
        del context.understood[count:]
        reader = Reader(context, paragraph, lenient=lenient)
        context.opens_sizes = opens
        try:
            reader.read(early)
            if not reader.failed:
                return
        except Unreadable as error:
            plain = (early, opens, lenient) == ("", infer, False)  # as it stands, with what may be inferred
            first = error if first is None or plain else first
        finally:
            context.opens_sizes = False
    assert first is not None
    context.recursions = dict(kept.recursions)  # what could not be read to its end may say more of them
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
        parts = take_witnesses(self.context, take_recursions(self.context, parts, line), line)
        around = surroundings_of(tuple(parts))
        first, conditional = _first_quantifiers(parts), find_conditional(parts)
        done = self.declare_early(parts, early, around, first) if early else set()
        for place, part in enumerate(parts):
            if place in done:
                self.refuse_all_sizes(parts[place - 1], part, line)
                binding = False
            elif place % 2 == 0:
                if place and (partial := _FOR_SOME.match(part)):
                    raise Unreadable(f"'{' '.join(partial[0].split())}' says of which entries: write them out", line)
                words(self, describe(self, parts, place, line), line)
                binding = bool(BINDING.search(part.rstrip()))
            elif part.strip():
                self.around = around[place]
                if place in conditional:
                    self.leave_out(part, line, UNDER_CONDITION)
                elif _EQUATES.search(part) and (change := find_change(parts, place)):
                    self.leave_out(part, line, f"the words '{change}' behind it may change it")
                elif place in first:
                    self.quantify(part, parts[place + 2], line)
                else:
                    self.take_formula(part, line, binding)
            if place % 2:
                self.bind_quantifier(parts, place, line)
                name_subjects(self, parts, place, line)
            line += part.count("\n")
        self.settle()
        state_independence(self.context, parts, self.paragraph.line)

    def take_formula(self, part: str, line: int, binding: bool) -> None:
        """One formula; `binding` says that "for" or the like stands before it."""
        if binding and self.around.standing is Standing.SAID and is_condition(part, line):
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

    def quantify(self, text: str, following: str, line: int) -> None:
        r"""Keep `for all $i$` for the relation after it.

        Raises:
            Unreadable: it speaks of all numbers, `for all $n \in \mathbb{N}$`, where a case has one n.
        """
        conditions = condition_parts(text, line)
        letters = {symbol_name(chain.exprs[0]) for chain in conditions}
        if any(c.ops == ("in",) and isinstance(c.exprs[1], Name) for c in conditions):
            said = {n for c in condition_parts(following, line) for n in names_in(c)} & letters
            if said:
                raise Unreadable(_all_values(following.strip(), text.strip()), line)
            return
        self.quantified = conditions

    def bind_quantifier(self, parts: list[str], place: int, line: int) -> None:
        """Bind the hypothesis at a place to what it holds for, if that stands in front of it."""
        if self.quantified and self.pending:
            conditions, self.quantified = self.quantified, []
            self.bind(conditions, parts[place - 2], line)

    def refuse_all_sizes(self, before: str, text: str, line: int) -> None:
        r"""Refuse `with $c \ge n$ for all $n \in \mathbb{N}$`, which says it of every n, where a case has one n.

        Raises:
            Unreadable: a hypothesis of this sentence mentions what stands after "for all".
        """
        names = {symbol_name(chain.exprs[0]) for chain in condition_parts(text, line)}
        said = [to_latex(one.chain) for one in self.pending if names & names_in(one.chain)]
        if said and _FOR_ALL.search(before):
            raise Unreadable(_all_values(said[0], text.strip()), line)

    def declare_early(self, parts: list[str], early: str, around: Sequence[Surroundings], first: set[int]) -> set[int]:
        """Declare the formulas that only say where symbols live (`domains`), or only the `sizes` among them.

        Args:
            parts: Prose and formulas in turn.
            early: Which of them.
            around: What the words around each of them say.
            first: The places of quantifiers in front of a relation, which declare nothing.
        """
        done: set[int] = set()
        for sizes in (True,) if early == "sizes" else (True, False):
            line = self.paragraph.line
            for place, part in enumerate(parts):
                bound = place in first or (place % 2 and not sizes and BINDING.search(parts[place - 1].rstrip()))
                declares = around[place].standing is Standing.SAID
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
        if self.take_function(text, line):
            return
        try:
            pieces = read_pieces(text, line)
        except Unreadable as error:
            self.pass_over(error, bool(DECLARES.search(text)))
            return
        if lists_values([one for _, one in pieces]):
            self.leave_out(text, line)
            return
        waiting: list[Expr] = []
        for tokens, statement in pieces:
            self.bold = _bold(tokens) if not waiting else {**self.bold, **_bold(tokens)}
            if isinstance(statement, Unreadable):
                unread = Unreadable(statement.message, statement.line)
                self.pass_over(unread, any(t.kind == "REL" and t.value in _DECLARING for t in tokens))
                waiting = []
                continue
            if statement.arrows:
                raise Unreadable("an implication is not understood in a declaration", line)
            (chain,) = write_samples(self.context, statement.chains[:1])
            if chain.alone:
                waiting.append(chain.exprs[0])
                continue
            left = write_run([*waiting, chain.exprs[0]])
            item, waiting = Item(left, replace(chain, exprs=(left[-1], *chain.exprs[1:]))), []
            try:
                self.item_of_one_shape(item, text, tokens[0].line)
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

    def take_function(self, text: str, line: int) -> bool:
        """Declare functions of which no more is known than that they are differentiable; False for another formula."""
        functions = functions_in(text)
        for function in functions:
            declare_function(self.context, function, line)
        names = loss_in(text)
        if names is not None:
            loss, body = loss_of(self.context, names, line)
            self.define_chain(Chain((loss, body), (":=",), (line,)), to_latex(loss), line)
        return bool(functions) or names is not None

    def pass_over(self, error: Unreadable, declares: bool) -> None:
        """Go on after a declaration that cannot be read; not after a hypothesis, which must not be missed."""
        if not self.lenient or not declares:
            raise error
        self.failed.append(error)

    def item_of_one_shape(self, item: Item, text: str, line: int) -> None:
        """One of them; what has no shape, as a matrix in an exponent of a law's mean, cannot be read."""
        try:
            self.item(item, text, line)
        except ShapeMismatch as error:
            raise Unreadable(f"in '{to_latex(item.chain)}': {error}", line) from None

    def item(self, item: Item, text: str, line: int) -> None:
        """One declaration, definition or hypothesis."""
        op = item.chain.ops[0]
        if self.is_only_stated(item, op, line):
            self.leave_out(to_latex(item.chain), line)
        elif len(item.left) == 1 and take_unit(self.context, item.chain, line):
            self.settle()
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
                bounded_scalars(self, chain, line)
                bounded_modulus(self, chain, line)
                self.pending.append(Pending(chain, line, to_latex(chain), []))

    def is_only_stated(self, item: Item, op: str, line: int) -> bool:
        """Whether a relation is not an assumption; a symbol may be introduced after any words, but not restated."""
        standing = self.around.standing
        if op in ("in", "sim"):
            known = any(symbol_name(e) in self.context.symbols for e in item.left)
            return standing is Standing.SAID and (known or not _whole(self.context, item.chain.exprs[1], line))
        return op != ":=" and standing is not Standing.ASSUMED

    def leave_out(self, text: str, line: int, advice: str = ASSUMES) -> None:
        """Say that a relation is left out, and why."""
        around = self.around
        behind = f" (after '{around.behind}')" if around.behind else ""
        self.context.understood.append((line, f"not assumed: ${text}${behind}: {advice}"))
        about = declared_names(self.context, text, line)
        if about:
            quote = shorten_quote(f"{around.clause} ${text}$")
            # a promise of formulas covers no formula in the prose
            written = around.stands and not is_goal(around.clause)
            self.context.caveats.append(
                Caveat(line, quote, self.context.level, about, text, plain=around.meant, written=written)
            )

    def define_chain(self, chain: Chain, text: str, line: int) -> None:
        """A definition that stands in a display."""
        define(self, Item([chain.exprs[0]], chain), text, line)


_FIRST = re.compile(
    r"\b(?:assum\w+|suppos\w+|requir\w+|that|and|let)[\s,]+for (?:all|every|each|any)\s*$", re.IGNORECASE
)
_OPENS_FIRST = re.compile(r"(?:^|[.;:])\W*for (?:all|every|each|any)\s*$", re.IGNORECASE)
_JOINS = re.compile(r"\s*,?\s*(?:we have|it holds that|that)?\s*,?\s*")
_ASSUMES_BEHIND = re.compile(r"\s*,?\s*(?:we |let us )?(?:assume|suppose|require)(?: that)?\s*", re.IGNORECASE)
_NO_DOMAIN = re.compile(r"[=<>]|\\(?:[lg]eq?|neq?)(?![a-zA-Z])")


def _first_quantifiers(parts: list[str]) -> set[int]:
    """The places of the formulas that say for what the relation after them holds: `for all $i$, $x_i > 0$`."""
    found = set()
    for place in range(1, len(parts) - 2, 2):
        behind, following = parts[place + 1], parts[place + 2]
        before = " ".join(parts[place - 1].split())
        opens = _FIRST.search(before) and _JOINS.fullmatch(behind)
        opens = opens or (_OPENS_FIRST.search(before) and _ASSUMES_BEHIND.fullmatch(behind))
        if opens and _NO_DOMAIN.search(following) and "\\in " not in following:
            found.add(place)
    return found


def _all_values(said: str, text: str) -> str:
    """What to say of a relation for all values of a letter."""
    words = f"'${said}$ for all ${text}$' is said of all values together, and a case has one"
    return f"{words}: write what follows from it, such as a bound without {text.split()[0]}"


def _is_member(context: Context, expr: Sub) -> bool:
    """Whether an expression is a member of a declared family or of a definition with indices, whichever it is."""
    base = context.symbols.get(symbol_name(expr.base) or "")
    return base is not None and (base.kind == "family" or (base.kind == "definition" and bool(base.params)))


def _whole(context: Context, expr: Expr, line: int) -> bool:
    """Whether a domain says no more than the kind of a symbol: no interval, no set of values, no law."""
    try:
        domain = domain_of(Elaborator(context, line=line), expr)
    except (Unreadable, ShapeMismatch):
        return True  # the declaration reports what is wrong
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


DEFINING = ("let", "put", "define", "where")


def defines(reader: ReaderState, item: Item) -> bool:
    """Whether `=` defines: after Let or Put with an undeclared symbol on the left."""
    form = function_form(item.left[-1])
    squared = _find_squared_name(item.left[-1])
    one = len(item.left) == 1 and item.chain.ops in (("=",), ("=", "in"))
    if form or squared:
        fresh = (form[0] if form else squared) not in reader.context.symbols
        return fresh and reader.verb in DEFINING and one
    name = symbol_name(item.left[-1])
    if reader.verb not in DEFINING or name is None or not one:
        return False
    known, target = reader.context.symbols, item.left[-1]
    root = known.get(symbol_name(target.base) or "") if isinstance(target, Sub) else None
    if name in known:
        return False
    if root is None or not isinstance(target, Sub):
        return True
    if root.kind == "family" or index_items(Elaborator(reader.context), target.items) is not None:
        return False
    return not _is_entry(reader, item, root, target)


def _is_entry(reader: ReaderState, item: Item, root: Symbol, target: Sub) -> bool:
    r"""Whether `with $x_i = 2$` speaks of all entries of a declared x, and does not define a symbol x_i.

    Raises:
        Unreadable: `Let $x_k = 0$`, which may speak of one entry or of all.
    """
    right = item.chain.exprs[-1]
    letter = missing_index(reader.context, target)
    if root.kind != "array" or not letter or not entry_type_fits(root, target, True):
        return False
    if find_defined_name(Elaborator(reader.context), target, right)[1] and root.name not in names_in(right):
        return False  # y_i = 2 x_i, which defines all of y
    try:
        relations_of(reader.context, item.chain, [], item.chain.lines[0], separate=True)
    except (Unreadable, ShapeMismatch):
        return False
    if re.fullmatch(r"(?i)(?:let|put|define|and let|and put|)", reader.around.behind.strip()):
        whole = to_latex(item.chain)
        raise Unreadable(
            f"'{whole}' may speak of one entry of {root.name} or of all: write 'Assume ${whole}$ for all ${letter}$', "
            "or name what it defines by another letter",
            item.chain.lines[0],
        )
    return True


def define(reader: ReaderState, item: Item, text: str, line: int) -> None:
    """`M := 2 A A^\\top`, also with indices: `\\alpha_i := ...`."""
    left, right = item.left[-1], item.chain.exprs[1]
    if item.chain.ops[1:] == ("in",):
        define(reader, replace(item, chain=Chain((left, right), item.chain.ops[:1], item.chain.lines[:1])), text, line)
        require_space(reader.context, left, item.chain.exprs[2], line)
        return
    if _define_parts(reader, item, text, line):
        return
    reader.context.applied = 0
    elab = Elaborator(with_same_sizes(reader.context), line=line)
    left = defined_member(elab, left, right) or left
    form, squared = function_form(left), _find_squared_name(left)
    if form is not None and len(item.chain.ops) == len(item.left) == 1:
        _define_function(reader, form, right, line)
        return
    if squared:
        assert isinstance(left, Sup)
        if isinstance(right, Minus) and isinstance(right.body, Num):
            raise Unreadable(f"no real number {squared} has the square {to_latex(right)}", line)
        left, right = left.base, Root(right)
    name, params = find_defined_name(elab, left, right)
    if name is None or item.chain.ops not in (("=",), (":=",)) or len(item.left) != 1:
        raise Unreadable(f"'{text}' is not understood as a definition: write 'Put $M := ...$'", line)
    ranges: list[tuple[Size, Size]] = []
    for param in params:
        ranges.append(inferred_range(elab, param, right))
        elab.bound[param] = None
    if name in names_in(right) and name in reader.context.symbols and reader.context.symbols[name].kind != "definition":
        raise Unreadable(f"{name} is defined by itself", line)
    try:
        term = elab.term(right)
    except ShapeMismatch as error:
        raise Unreadable(f"in the definition of {name}: {error}", line) from None
    low, high = ranges[0] if ranges else (None, None)
    about = frozenset(all_names(right) - set(params))
    place = (name, "definition", line, reader.context.level)
    symbol = Symbol(*place, None, low, high, term=term, params=tuple(params), ranges=tuple(ranges), mentions=about)
    introduce(reader, symbol, f"{name} is defined as {to_latex(right)}, {term.type}")


def _define_parts(reader: ReaderState, item: Item, text: str, line: int) -> bool:
    """Define a complex number by its parts; False of any other value."""
    parts = split_definition(reader.context, item.chain) if len(item.left) == 1 else []
    for one in parts:
        define(reader, Item([one.exprs[0]], one), text, line)
    if len(parts) == 2:
        declare_complex(reader.context, symbol_name(item.left[0]) or "", line, defined=True)
    return bool(parts)


def _define_function(reader: ReaderState, form: tuple[str, tuple[str, ...]], right: Expr, line: int) -> None:
    """`f(t) := ...`."""
    name, params = form
    elab = Elaborator(reader.context, line=line)
    require_used_parameters(elab, right, params)
    if name in names_in(right):
        raise Unreadable(f"{name} is defined by itself", line)
    about = frozenset(all_names(right) - set(params))
    body = rename_bound_indices(reader.context, right, params)
    symbol = Symbol(name, "function", line, reader.context.level, params=params, body=body, mentions=about)
    introduce(reader, symbol, f"{name}({', '.join(params)}) is defined as {to_latex(right)}")


def _find_squared_name(expr: Expr) -> str:
    r"""The name in `\sigma^2`, which defines sigma as the root; '' of anything else."""
    return (symbol_name(expr.base) or "") if isinstance(expr, Sup) and expr.exponent == Num(Fraction(2)) else ""


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


class _Words(NamedTuple):
    """What words between formulas do, whatever is declared."""

    changing: str  # the first word that changes the meaning
    ends: bool  # whether a sentence ends in them
    settles: bool  # whether what waited for "for ..." waits no longer
    verb: str  # the last word that says what the formulas behind it are for


_ENDS, _AND_LET, _WORD = re.compile(r"[.;]\s|[.;]$"), re.compile(r"\band let\b"), re.compile(r"[A-Za-z]+")
_VERBS = (*DEFINING, "given", "assume", "suppose", "draw")


@lru_cache(maxsize=KEPT_SENTENCES)
def _read_words(text: str) -> _Words:
    """What words between formulas do."""
    found, ends = _MEANING.search(text), bool(_ENDS.search(text))
    verbs = [word.lower() for word in _WORD.findall(text) if word in OPENERS or word.lower() in _VERBS]
    settles = (ends or bool(_AND_LET.search(text))) and not BINDING.search(text.rstrip())
    return _Words(found.group() if found else "", ends, settles, verbs[-1] if verbs else "")


def words(reader: ReaderState, text: str, line: int) -> None:
    """Prose between formulas."""
    changing, ends, settles, verb = _read_words(text)
    if changing:
        advice = _ADVICE.get(changing.lower(), "say it with a formula, or leave the sentence out of this paragraph")
        raise Unreadable(f"the word '{changing}' changes the meaning and is not understood here: {advice}", line)
    if not text.strip(" ,"):
        return
    if "broadcast" in text and re.search(r"\bbroadcast\b", text):
        reader.context.broadcast = reader.context.level
        reader.context.understood.append((line, "sums are broadcast"))
    if "distinct" in text and re.search(r"\bdistinct\b", text):
        reader.distinct(line)
    if ends:
        reader.drawn, reader.law_index, reader.sentence = [], "", reader.sentence + 1
    if settles:
        reader.settle()
    if ends and not reader.pending:
        reader.held.clear()
    reader.verb = verb or reader.verb

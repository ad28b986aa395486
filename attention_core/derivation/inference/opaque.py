r"""Functions that a document does not define, and what a reading of undeclared symbols cannot say.

`f(x)` and `p(x \mid z)` are symbols of their own: what holds whatever number f(x) is holds of every function. After a
sum `f(x_i)` is a family. Within a derivative nothing is replaced, since how f depends on x is what counts there; the
derivative of f(x) alone, and one by a symbol that is defined itself, as in a chain rule, are one symbol.

Read as free symbols, L does not depend on x, and the derivative of L by x is 0; x is not random, and E[x] is x. Steps
that would be right for such a reason are not decided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from operator import is_
from typing import Any

from attention_core.derivation.elaborate.events import COMPARISONS
from attention_core.derivation.elaborate.functions import substitute
from attention_core.derivation.elaborate.indicators import ONES, conditions_in, is_factor
from attention_core.derivation.elaborate.intermediates import goes_through
from attention_core.derivation.elaborate.matrix_functions import ENTRYWISE, KRONECKER, OUTER, PSEUDO_INVERSE
from attention_core.derivation.inference.eigenvalues import is_eigenvalue
from attention_core.derivation.inference.index_sets import is_count, is_set
from attention_core.derivation.inference.letters import (
    add_missing_index,
    find_increment,
    is_d,
    is_explicit,
    layers_in,
    leads_everywhere,
)
from attention_core.derivation.inference.loose_forms import TERMS, is_capital, is_loose
from attention_core.derivation.inference.members import name_member, put_dots
from attention_core.derivation.inference.usage import (
    DELTA,
    ONES_NAME,
    UNIT,
    Usage,
    bound_letters,
    index_parts,
    is_ordinary,
    walk,
)
from attention_core.derivation.latex.printer import symbol_name, to_latex
from attention_core.derivation.latex.syntax import (
    EVALUATED,
    Big,
    Call,
    Chain,
    Derivative,
    Dots,
    Expr,
    Fence,
    Frac,
    Group,
    Minus,
    Name,
    Num,
    Plus,
    Sub,
    Sup,
    Times,
    Transpose,
    children,
    names_in,
    rebuild,
)
from attention_core.derivation.latex.tokens import UNREAD_BIG, UNREAD_OPERATIONS
from attention_core.derivation.terms.context import Context, Symbol
from attention_core.derivation.terms.relevance import is_made_of
from attention_core.derivation.terms.terms import Relation, Term


def is_opaque(name: str) -> bool:
    """Whether a name is that of a function at its argument."""
    return name.endswith((")", "]")) and ("(" in name or "[" in name)


AVERAGES = ("E", "Var", "Cov", "Pr")  # those over a law that a subscript names


LABELS = frozenset("QKVOC")  # queries, keys, values, output, content: W^Q is not a power


KNOWN_NORMS = frozenset(
    ["1", "2", "F", r"\text{F}", r"\infty", "*", "o p", r"\text{op}", r"\text{nuc}", r"\text{nuclear}"]
)


def is_evaluated(node: object) -> bool:
    """Whether a node is a value at a point, `f'(x)|_{x = 0}`."""
    return isinstance(node, Sub) and isinstance(node.base, Sup) and node.base.exponent == Name(EVALUATED)


def is_average(name: str) -> bool:
    """Whether a name stands for what has a meaning of its own: an average, or a derivative of what is not defined."""
    return name.startswith(tuple(f"{one}_{{" for one in AVERAGES)) or r"\partial" in name


def _join(chains: Iterable[Chain]) -> str:
    return ", ".join(to_latex(chain) for chain in chains)


class Opaque:
    """Replaces values of unknown functions by symbols, in one section."""

    def __init__(
        self,
        context: Context,
        usage: Usage,
        formulas: Sequence[Chain] = (),
        turned: bool = False,
        name_ones: Callable[[str], str] = lambda _: ONES_NAME,
        sets: frozenset[str] = frozenset(),  # letters of sets of indices
    ) -> None:
        self.context = context
        self.name_ones, self.place = name_ones, ("", 0)  # the formula that is read, and how many `\\mathbf{1}` it had
        self.unread = UNREAD_OPERATIONS - ({"x"} if context.stated & {KRONECKER, OUTER, ENTRYWISE} else set())
        self.powers = {
            one.above.text for one in walk(tuple(formulas)) if isinstance(one, Big) and isinstance(one.above, Name)
        }
        self.arrays = set(usage.arrays)
        self.sets = sets - (set(context.symbols) - set(context.inferred))
        self.layers = layers_in(formulas) - (set(context.symbols) - set(context.inferred))
        self.turned = turned and "t" not in context.symbols
        self.differentials = "d" not in context.symbols and leads_everywhere("d", formulas)
        known = {name for name, symbol in context.symbols.items() if name not in context.inferred or symbol.body}
        self.functions = {one for one in usage.functions - known if one.split("_{")[0] not in known}  # p_i (...)

    def chains(self, chains: Iterable[Chain]) -> list[Chain]:
        """The chains with symbols in the place of what unknown functions give."""
        out = []
        for chain in chains:
            if TERMS in self.context.loose:
                out.append(replace(chain, exprs=tuple(map(_name_terms, chain.exprs))))
                continue
            self.place = (to_latex(chain), 0)
            bound = frozenset(name for one in walk(chain) if isinstance(one, Big) for name in bound_letters(one))
            written = substitute(chain, partial(self.read_as_field_does, bound))
            out.append(self.replace(add_missing_index(written), frozenset()))  # type: ignore[arg-type]
        return out

    def replace(self, node: Any, bound: frozenset[str]) -> Any:
        """A tree with symbols in the place of what unknown functions give."""
        if isinstance(node, tuple):
            parts = tuple(self.replace(one, bound) for one in node)
            return node if all(map(is_, parts, node)) else parts
        if is_loose(node, self.context):
            letters = names_in(node) & bound
            return name_member(to_latex(put_dots(node, letters)), letters, node)
        if isinstance(node, Derivative):
            return self.slope(node, bound)
        if node == Name(ONES) and ONES not in self.context.symbols:
            self.place = (self.place[0], self.place[1] + 1)  # each has a size of its own
            return Name(self.name_ones(f"{self.place[1]} in {self.place[0]}"))
        if not children(node) or (isinstance(node, Frac) and is_ordinary(self.context, node)):
            return node
        if isinstance(node, Chain) and node.ops == ("in",):
            return Chain((self.replace(node.exprs[0], bound), node.exprs[1]), node.ops, node.lines)
        if isinstance(node, Big) and node.op == "int" and is_explicit(self.context, node):
            return node
        if _is_one_symbol(node) or self.is_unclear(node) or self.is_chosen(node, bound):
            letters = names_in(node) & bound
            return name_member(to_latex(put_dots(node, letters)), letters, node)
        if isinstance(node, Sub | Sup) and (renamed := self.rename(node, bound)) is not None:
            return renamed
        if isinstance(node, Big) and node.op == "lim":
            return replace(node, body=self.replace(node.body, bound))
        if isinstance(node, Big):
            bound = bound | bound_letters(node)
        if isinstance(node, Times):
            return self.product(node, bound)
        averaged = isinstance(node, Call) and node.sub and node.function in (*AVERAGES, "argmax")
        if averaged and not names_in(node) & bound:
            return Name(f"{node.function}_{{{_join(node.sub)}}}[{_join(node.args)}]")
        return rebuild(node, lambda part: self.replace(part, bound))

    def is_unclear(self, node: Any) -> bool:
        r"""Whether a node is a value that nothing here determines, and so a symbol of its own.

        A sum without an index or over a set of the document (`\sum_{i \in \mathcal{B}}`) and how many elements the set
        has, the largest value under a condition, an infimum or supremum and where it is taken, a product `\otimes`,
        attention as a function of one thing, an average with a subscript (`E[g^2]_t`), and a mask that is minus
        infinity in a case.
        """
        if is_evaluated(node):
            return True
        match node:
            case Big(op) if op in UNREAD_BIG:
                return True
            case Sup(Group(), Name("'")):
                return True
            case Sub(_, items) if any("mid" in one.ops for one in items):
                return True
            case Call("E" | "Var" | "Cov" | "Normal", args) if any("mid" in one.ops for one in args):
                return True  # under a condition
            case Call("Pr", args):
                return not args or any(one.alone or not set(one.ops) <= set(COMPARISONS) for one in args)
            case Times(factors, ops) if self.unread & set(ops) or is_evaluated(factors[-1]):
                return True
            case Big("max" | "min", (Chain((Name() as over,)),), None, body) if not self.is_range(over, body):
                return True  # the largest value of a function
            case Big(op, below) if op != "lim":
                return not below or any(self.is_open_range(chain) for chain in below)
            case Fence() if is_count(node, self.sets):
                return True
            case Sub(Fence("norm"), (Chain((kind,)),)):
                return to_latex(kind) not in KNOWN_NORMS and not isinstance(kind, Num)
            case Call("attention", args, below):
                return len(args) != 3 or bool(below)
            case Sub(Call(function)):
                return function in AVERAGES
            case Group("(", (Chain((Plus(),)),)):  # values by cases, one of them infinite
                return {ONES, r"\infty"} <= names_in(node)
        return False

    def is_range(self, letter: Name, body: object) -> bool:
        """Whether a letter stands as a subscript, or as what an unknown function is of: its values are a family."""
        values = (pair for one in walk(body) if isinstance(one, Times) for pair in pairwise(one.factors))
        called = any(symbol_name(head) in self.functions and letter.text in names_in(inside) for head, inside in values)
        return called or any(letter.text in names_in(one.items) for one in walk(body) if isinstance(one, Sub))

    def is_chosen(self, node: Any, bound: frozenset[str]) -> bool:
        """Whether an entry stands here whose index is an entry itself: `f_{y_i}`, the score of the label of i."""
        match node:
            case Sub(Name(base), items) if base not in (ONES, "I", r"\mathbf{0}") and "(" not in base:
                inside = [one for one in walk(items) if isinstance(one, Sub)]
                known = {symbol_name(node), *map(symbol_name, inside)} & (set(self.context.symbols) | bound)
                return bool(inside) and not known and base in self.arrays
        return False

    def is_open_range(self, chain: Chain) -> bool:
        """Whether the range of a big operator is a set, or a condition, that is not about whole numbers."""
        first = chain.exprs[0]
        if chain.ops[:1] == (":",):
            return True  # of those of which something holds
        if chain.ops == ("!=",) and isinstance(chain.exprs[1], Sub):  # all classes but the label of i
            return symbol_name(chain.exprs[1]) not in self.context.symbols
        if chain.ops in (("in",), ("notin",)):
            return is_set(chain) or not isinstance(first, Name | Sub)
        return not isinstance(first, Name | Sub | Num | Plus | Minus)

    def rename(self, node: Sub | Sup, bound: frozenset[str]) -> Expr | None:
        r"""`1_n`, `e_i`, `A^t` and `W^Q` as what they stand for, None of anything else."""
        if isinstance(node, Sup):
            if self.turned and node.exponent == Name("t"):
                return Transpose(self.replace(node.base, bound))
            return self.name_with_label(node)
        if node.base == Name(ONES):
            return node
        if node.base == Name("e") and not {"e", symbol_name(node)} & set(self.context.symbols):
            return Sub(Name(UNIT), node.items)  # with a subscript it is not a constant
        if node.base in (Num(Fraction(0)), Num(Fraction(1))):
            return Sub(Name(ONES if node.base == Num(Fraction(1)) else r"\mathbf{0}"), node.items)
        return None

    def read_as_field_does(self, bound: frozenset[str], node: object) -> object | None:
        r"""What authors mean by `a^{l - 1}` of a layer, `\nabla_a C \odot x`, `Q K^\top \odot M`; None of others."""
        if isinstance(node, Sup):
            return self.name_of_layer(node, bound)
        match node:
            case Call("softmax", (Chain((argument,), ()),), (Chain((Name(letter),), ()),)):
                return self.softmax_over(letter, argument)
            case Call("softmax", args, (_, *_) as below) if "row" in "".join(to_latex(one) for one in below):
                return Call("softmax", args)
            case Derivative(Times(factors, ops), by, True) if "o" in ops:
                place = ops.index("o")
                body = Times(factors[: place + 1], ops[:place]) if place else factors[0]
                rest = substitute(factors[place + 1 :], partial(self.read_as_field_does, bound))
                return Times((Derivative(body, by, True), *rest), ops[place:])  # type: ignore[misc]
            case Times(factors, ops) if {"o", ""} == set(ops):  # products come first
                inner = substitute(factors, partial(self.read_as_field_does, bound))
                return _multiply_products(inner, ops)  # type: ignore[arg-type]
        return None

    def softmax_over(self, letter: str, argument: Expr) -> Expr | None:
        r"""`\operatorname{softmax}_j(e_{i j})` as the quotient that it is; None where j is not an index of it."""
        used = names_in(argument) | set(self.context.symbols)
        other = next((Name(one) for one in "klmrstuv" if one not in used), None)
        indices = [one for node in walk(argument) if isinstance(node, Sub) for one in index_parts(node)]
        if other is None or Name(letter) not in indices:
            return None
        running: Any = substitute(argument, lambda node: other if node == Name(letter) else None)
        top, term = (Call("exp", (Chain((one,)),)) for one in (argument, running))
        return Frac(top, Big("sum", (Chain((other,)),), None, term))

    def name_of_layer(self, node: Sup, bound: frozenset[str]) -> Expr | None:
        r"""`a^{l - 1}` as a symbol of its own, where l is the number of a layer, None of a power."""
        letters = names_in(node.exponent)
        if not self.layers or not letters <= self.layers or letters & bound or not letters:
            return None
        label = f"^{{{to_latex(node.exponent)}}}"
        match node.base:
            case Name(letter):
                return Name(letter + label)
            case Sub(Name(letter), items):
                return Sub(Name(letter + label), items)
        return None

    def name_with_label(self, node: Sup) -> Expr | None:
        """`W_i^Q` with its label in its name, None of a power."""
        label = node.exponent
        if PSEUDO_INVERSE in self.context.stated and label in (Name("+"), Name(r"\dagger")):
            return None
        match node.base:
            case Sub(Name(letter), (Chain((Name(kind),)),)) if kind in LABELS and not isinstance(label, Num | Minus):
                return Sub(Name(f"{letter}^{{{to_latex(label)}}}"), node.base.items)  # W_Q^i of a head
        adjoint = label == Name(r"\dagger") and symbol_name(node.base) is not None and not is_capital(node.base)
        text = r"\dagger" if adjoint else _label_text(node.base, label)
        if not text or text in self.context.symbols or text in self.powers:
            return None
        if isinstance(node.base, Sub) and isinstance(node.base.base, Name):
            return Sub(Name(f"{node.base.base.text}^{{{text}}}"), node.base.items)
        return Name(f"{node.base.text}^{{{text}}}") if isinstance(node.base, Name) else None

    def slope(self, node: Derivative, bound: frozenset[str]) -> Expr:
        """A derivative, as one symbol where it is by something that is defined itself: the steps of a chain rule."""
        if (value := self.find_own_symbol(node, bound)) is not None:
            return replace(node, body=value)
        symbols = [self.symbol(self.base(one)) for one in node.by]
        unknown = any(isinstance(one, Times) and self.has_value(one) for one in walk(node.body))
        unknown = unknown or self.is_unknown(node.body) or any(self.is_unclear(one) for one in walk(node.body))
        unknown = unknown or any(
            isinstance(one, Call) and one.sub and one.function in AVERAGES for one in walk(node.body)
        )
        defined = [one for one in symbols if one is not None and one.kind == "definition"]
        if not unknown and all(is_made_of(self.context, names_in(node.body), one) for one in defined):
            return node
        body = f"\\partial({to_latex(put_dots(node.body, bound))})"
        by = ", ".join(to_latex(put_dots(one, bound)) for one in node.by)
        return name_member(f"{body} / \\partial({by})", bound, node.body, *node.by)

    def find_own_symbol(self, node: Derivative, bound: frozenset[str]) -> Name | None:
        r"""The symbol that a display defined by what is differentiated by its argument: `L(w) = p^2` of p made of w."""
        match node.body:
            case Times((_, Group() as argument), ("",)) if {self.base(one) for one in node.by} <= names_in(argument):
                named = self.replace(node.body, bound)
                known = self.context.symbols.get(named.text) if isinstance(named, Name) else None
                return named if known is not None and known.kind == "definition" and not known.params else None
        return None

    def is_unknown(self, body: Expr) -> bool:
        r"""Whether `J(\theta)` or J alone stands here, of a function that is not defined."""
        match body:
            case Times((head, Group()), ("",)) | (Name() as head):
                return symbol_name(head) in self.functions
        return False

    def has_value(self, node: Times) -> bool:
        """Whether a function that is not defined stands in front of its argument, as a part: `s(x)_i`."""
        pairs = zip(node.factors, node.ops, node.factors[1:], strict=False)
        return any(
            not op and symbol_name(left) in self.functions and isinstance(right, Sub) and isinstance(right.base, Group)
            for left, op, right in pairs
        )

    def symbol(self, name: str) -> Symbol | None:
        """The symbol of this name, of a section that has ended as well."""
        ended = self.context.ended.get(name)
        return self.context.symbols.get(name) or (ended[0] if ended is not None and not ended[1] else None)

    def base(self, variable: Expr) -> str:
        """The symbol that a variable is, or is an entry of."""
        name = symbol_name(variable) or ""
        while self.symbol(name) is None and isinstance(variable, Sub):
            variable = variable.base
            name = symbol_name(variable) or ""
        return name

    def product(self, node: Times, bound: frozenset[str]) -> Expr:
        """Factors, where a function stands in front of its argument."""
        factors, ops = list(node.factors), list(node.ops)
        place = 0
        while place < len(factors):
            name = symbol_name(factors[place])
            behind = factors[place + 1] if place < len(ops) and not ops[place] else None
            if name == ONES and isinstance(behind, Group) and conditions_in(behind.items):
                place += 2  # an indicator
                continue
            called = None
            if self.is_differential(factors[place]) and place < len(ops) and not ops[place]:
                called = self.differential(factors, ops, place, bound)
            elif place < len(ops) and not ops[place] and name == DELTA.strip() and name not in self.context.symbols:
                called = find_increment(factors[place + 1])
            elif place < len(ops) and not ops[place] and self.is_called(name, factors[place + 1]):
                called = self.value(factors[place], factors[place + 1], bound)
            behind_factor = place and not ops[place - 1] and isinstance(factors[place], Group)
            if called is None and behind_factor and not _is_joined(factors[place]):
                factors[place] = self.inside(factors[place], bound)  # it may hold arguments
            elif called is None:
                factors[place] = self.replace(factors[place], bound)
            else:
                factors[place : place + 2] = [called]
                del ops[place]
            place += 1
        if len(factors) == len(node.factors) and all(map(is_, factors, node.factors)):
            return node
        return Times(tuple(factors), tuple(ops)) if ops else factors[0]

    def is_called(self, name: str | None, behind: Expr) -> bool:
        """Whether a name in front of something is a function of it that nothing defines, or not of so many things."""
        if name is None:
            return False
        items = behind.items if isinstance(behind, Group) and behind.bracket == "(" else ()
        known = self.context.symbols.get(name)
        if known is not None and known.body is not None and items:
            return len(items) != len(known.params)
        if name != ONES and any(set(one.ops) & {"=", "mid", "parallel"} for one in items):
            return True  # P(X = x), beside a matrix P
        inside = behind.base if isinstance(behind, Sup) else behind
        of = inside.items if isinstance(inside, Group) and inside.bracket == "(" else ()
        if len(of) == 1 and is_eigenvalue(self.context, name, of[0]):
            return False
        return name in self.functions and not is_factor(name, behind)

    def inside(self, node: Expr, bound: frozenset[str]) -> Expr:
        """A bracket with what stands in it replaced, but not the bracket."""
        assert isinstance(node, Group)
        items = self.replace(node.items, bound)
        return node if items is node.items else replace(node, items=items)

    def is_differential(self, factor: Expr) -> bool:
        r"""Whether a factor is the d or the `\nabla` of what follows."""
        return factor == Name(r"\nabla") or (self.differentials and is_d(factor))

    def differential(self, factors: list[Expr], ops: list[str], place: int, bound: frozenset[str]) -> Expr | None:
        r"""`d V` and `d \sigma(x)` as one symbol; the argument of a function is taken out of the factors."""
        head, target = to_latex(factors[place]), factors[place + 1]
        name = symbol_name(target)
        known = self.symbol(name or "")
        called = name in self.functions or (known is not None and bool(known.body))
        if name is not None and called and place + 2 < len(factors) and not ops[place + 1]:
            found = self.value(Name(f"{head} {to_latex(target)}"), factors[place + 2], bound)
            if found is not None:
                del factors[place + 2], ops[place + 1]
                return found
        if name is None and not isinstance(target, Call | Group):
            return None
        letters = names_in(target) & bound
        return name_member(f"{head} {to_latex(put_dots(target, letters))}", letters, target)

    def value(self, head: Expr, argument: Expr, bound: frozenset[str]) -> Expr | None:
        """The symbol for `f(x)`, with what stands above and below it; None where no bracket follows."""
        match argument:
            case Group("(" | "[" as bracket, items, close):
                plain = len(items) != 1 or not isinstance(items[0].exprs[0], Name)  # H[P], but not H[P + Q]
                if bracket == "[" and plain and all(item.alone for item in items):
                    return None
                letters = names_in(items) & bound
                inside = ", ".join(to_latex(put_dots(item, letters)) for item in items)
                return name_member(f"{to_latex(head)}{bracket}{inside}{close}", letters, *items)
            case Sup(base, exponent):
                inner = self.value(head, base, bound)
                if inner is not None and self.turned and exponent == Name("t"):
                    return Transpose(inner)
                return None if inner is None else Sup(inner, self.replace(exponent, bound))
            case Transpose(base, letter):
                inner = self.value(head, base, bound)
                return None if inner is None else Transpose(inner, letter)
            case Sub(base, items):
                inner = self.value(head, base, bound)
                return None if inner is None else Sub(inner, items)
        return None


def _name_terms(expr: Expr) -> Expr:
    """A side with each of its terms as a symbol of its own."""
    match expr:
        case Plus(terms):
            return Plus(tuple(map(_name_terms, terms)))
        case Minus(body):
            return Minus(_name_terms(body))
        case Num():
            return expr
    return Name(f"({to_latex(expr)})")


def _multiply_products(factors: Sequence[Expr], ops: Sequence[str]) -> Times:
    r"""`A B \odot C` as `(A B) \odot C`: factors side by side are multiplied first."""
    groups: list[list[Expr]] = [[factors[0]]]
    for op, factor in zip(ops, factors[1:], strict=True):
        if op:
            groups.append([factor])
        else:
            groups[-1].append(factor)
    parts = tuple(
        Group("(", (Chain((Times(tuple(group), ("",) * (len(group) - 1)),)),), ")") if len(group) > 1 else group[0]
        for group in groups
    )
    return Times(parts, ("o",) * (len(parts) - 1))


def _is_one_symbol(node: Any) -> bool:
    """Whether nothing is done with what stands in a node: an integral, a normal law, several things in brackets."""
    if isinstance(node, Big):
        return node.op == "int"
    return (isinstance(node, Call) and node.function == "Normal") or (isinstance(node, Group) and _is_tuple(node))


def _is_joined(node: Expr) -> bool:
    r"""Whether a bracket holds `[a \| b]`, vectors one after the other."""
    return isinstance(node, Group) and any("parallel" in item.ops for item in node.items)


def _is_tuple(node: Group) -> bool:
    """Whether several things stand in round or curly brackets: a symbol of its own."""
    if _is_joined(node):
        return True
    plain = all(item.alone and not isinstance(item.exprs[0], Dots) for item in node.items)
    return node.bracket in ("(", "{") and len(node.items) > 1 and plain


def _label_text(base: Expr, label: Expr) -> str:
    """The label that an exponent is, '' of a power: `Q`, words, and above a W other capitals and several of them."""
    head = base.base if isinstance(base, Sub) else base
    match label:
        case Name("+" | "-" as sign) if symbol_name(head) is not None:
            return sign
        case Name(text) if text in LABELS or text.startswith(r"\text{") or (head == Name("W") and text == "P"):
            return text
        case Times(factors, ops) if head == Name("W") and not any(ops):
            letters = [one.text for one in factors if isinstance(one, Name) and one.text.isupper()]
            return "".join(letters) if len(letters) == len(factors) and letters[0] in LABELS else ""
    return ""


def unknown_dependence(claim: Relation) -> str:
    """Why a claim that holds for free symbols may not hold for those of the document, '' if there is no such reason.

    Args:
        claim: The typed claim.
    """
    for side in (claim.left, claim.right):
        for term in side.walk():
            if term.op == "expect":
                return "an average of symbols whose law is not declared"
            if term.op == "deriv" and (body := _unknown_body(term)):
                return f"nothing says how {body} depends on {_variable(term.args[1])}"
    return ""


def _variable(term: Term) -> str:
    while term.args and term.op == "entry":
        term = term.args[0]
    return str(term.data)


def _unknown_body(slope: Term) -> str:
    """What is differentiated, if it does not mention the variable, or is a function that is not defined."""
    if goes_through(slope.args[0], slope.args[1]) or slope.args[1].op == "marked":
        return ""
    body, variable = slope.args[0], _variable(slope.args[1])
    leaves = [str(one.data) for one in body.walk() if one.op in ("leaf", "member", "int")]
    strange = next((one for one in leaves if is_opaque(one)), "")
    if strange or variable in leaves:
        return strange
    return leaves[0] if leaves else "a constant"

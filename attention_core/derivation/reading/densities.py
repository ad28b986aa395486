r"""Probabilities as quotients: $p(x \mid z)$ is $p(x, z) / p(z)$, and $p(z)$ is the sum of $p(x, z)$ over x.

A letter with `\mid` between its arguments is a law, and so is what an average or a divergence is taken over. The
values of a law are not numbers of their own: Bayes' rule, the chain rule and the evidence bound hold of all laws. Such
a relation is written once more with joint tables, each argument that is summed, integrated or averaged over being an
index:

* $p(A \mid B)$ is $p(A, B) / p(B)$, each of which is a sum of the table over the indices that it lacks;
* $\mathbb{E}_{z \sim q(z \mid x)}[f(z)]$ is $\sum_z q(z \mid x) f(z)$, and $D_{KL}(q \| p)$ is $\sum q \log (q / p)$;
* $H(Y \mid X)$ and $I(X; Y)$ of capitals are the entropies and the information of such laws, of $x$ and $y$;
* an integral over all values is a sum: what holds of every finite table follows from rules that integrals share.

What the relation says beside this is read as in any other. In an inequality the tables are exponentials, and positive,
and what is not written as a sum is one over cells of any width, as of a density: $\mathbb{E}_{p(x)}[\log p(x)] \le 0$
fails for narrow ones. The relation is left as it is where its letters may not be those of one law:

* a law that stands for a number as well, one with a bound letter in its name, and a derivative;
* a name without arguments below an average, but for a variational $q$ of which the relation has one value;
* an average of what may depend on what it is taken over: $\mathbb{E}_{p(x)}[X^2]$ is not $X^2$;
* a sum over a set that may be a part of all values ($x \in A$), or a sum and an integral over one letter;
* arguments that change places ($P(i, j)$ and $P(j, i)$), and $p(x')$ beside $p(x' \mid x)$: one function of both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from attention_core.derivation.document.display import DisplayStatement
from attention_core.derivation.elaborate.functions import substitute
from attention_core.derivation.inference.usage import bound_letters, walk
from attention_core.derivation.latex.parse import parse_statement
from attention_core.derivation.latex.printer import to_latex
from attention_core.derivation.latex.syntax import (
    Big,
    Call,
    Chain,
    Derivative,
    Dots,
    Expr,
    Frac,
    Group,
    Minus,
    Name,
    Num,
    Statement,
    Sub,
    Times,
    Unreadable,
    children,
    names_in,
)
from attention_core.derivation.reading.step import Step, Unread
from attention_core.derivation.reading.values_of_laws import (
    NAME,
    Entropy,
    Value,
    find_entropies,
    find_entropy,
    find_law_name,
    find_other_letters,
    find_value,
    find_values,
    is_one_function,
    order_letters,
    overlap,
    runs_over_all,
)
from attention_core.derivation.terms.context import Context
from attention_core.derivation.terms.terms import ShapeMismatch

Supply = Callable[[Context, DisplayStatement, bool, bool], DisplayStatement]
MAX_INDICES = 2  # of a table: more have no symbol
_FRESH = ("k", "l", "r", "s", "u", "v", "i", "j", "m")
_CONSTANTS = frozenset(["a", "b", "c", "k", "m", "n", "N", r"\infty", r"\pi"])
_CONSTANTS |= {rf"\{name}" for name in ("alpha", "beta", "gamma", "eta", "kappa", "lambda", "mu", "sigma", "tau")}
"""Letters that an average is not taken over, as far as letters tell; others may be what depends on it."""
_BOUNDED = ("<=", ">=")
_INFORMATION = re.compile(r"\\;|I\s*\([^()]*\)")  # a space, and I(X; Y)
_DIVERGENCES = frozenset(["KL", r"\text{KL}", r"\mathbb{KL}", r"\text{DKL}"])


class NotTables(Exception):
    """A relation that cannot be written with joint tables."""


@dataclass
class Tables:
    """Writes one relation with joint tables."""

    values: dict[str, list[Value]] = field(default_factory=dict)  # of each law
    running: dict[str, str] = field(default_factory=dict)  # arguments that are summed over, and their indices
    marginal: dict[str, str] = field(default_factory=dict)  # the indices of sums that a table has of its own
    held: dict[str, str] = field(default_factory=dict)  # the indices of such arguments where they stand outside of sums
    summed: set[str] = field(default_factory=set)  # those that a written sum runs over, so that they have no density
    law: str = "p"  # the one that entropies are of
    positive: bool = False  # whether tables are written as exponentials

    def read(self, sides: Sequence[Expr]) -> None:
        """Note the laws of a relation, their values and what is summed over."""
        for node in (one for side in sides for one in walk(side)):
            for value in find_values(node):
                self.values.setdefault(value.law, []).append(value)
        if not {one.targets for one in self.values.get("Q", ())} & {one.targets for one in self.values.get("P", ())}:
            self.values.pop("Q", None)  # the value of an action, or another function
        self.law = next((one for one in ("p", "P") if one in self.values), "p")
        for node in (one for side in sides for one in walk(side) if isinstance(one, Times)):
            for one in find_entropies(node):
                self.values.setdefault(self.law, []).append(Value(self.law, tuple(sorted(one.arguments, key=to_latex))))
        integrated: set[str] = set()
        for node in (one for side in sides for one in walk(side)):
            letters = self.letters_of(node)
            self.running.update(dict.fromkeys(letters, ""))
            if isinstance(node, Big):
                (integrated if node.op == "int" else self.summed).update(letters)
        arguments = {one for values in self.values.values() for value in values for one in value.arguments}
        if self.summed & integrated or any(map(is_one_function, self.values.values())):
            raise NotTables
        if any(overlap(one, other) for one in arguments for other in arguments if to_latex(one) in self.running):
            raise NotTables
        used = {name for side in sides for name in names_in(side)}
        free = [one for one in _FRESH if one not in used]
        if len(free) < 3 * len(self.running):
            raise NotTables
        own = iter(free)
        self.running = {letter: next(own) for letter in sorted(self.running)}
        self.marginal = {letter: next(own) for letter in self.running}
        self.held = {letter: next(own) for letter in self.running}

    def letters_of(self, node: object) -> list[str]:
        """The arguments that a sum, an integral, an average or a divergence runs over."""
        arguments = {to_latex(one) for values in self.values.values() for value in values for one in value.targets}
        match node:
            case Big("sum", below, None) if all(chain.ops in ((), ("in",)) for chain in below):
                letters = [to_latex(chain.exprs[0]) for chain in below]
                if set(letters) <= arguments and not all(map(runs_over_all, below)):
                    raise NotTables
                return letters if set(letters) <= arguments else []
            case Big("int") if (over := _find_variable(node)) is not None:
                return [one for one in (to_latex(over),) if one in arguments]
            case Call("E", _, sub) if sub:
                return [to_latex(one) for value in self.find_laws(sub) for one in value.targets]
            case Times() if (pair := self.divergence(node)) is not None:
                return [to_latex(one) for one in pair[0].targets]
            case Times():
                found = find_entropies(node)
                return [to_latex(one) for entropy in found for one in entropy.arguments]
        return []

    def find_laws(self, sub: Sequence[Chain]) -> list[Value]:
        """The laws that an average is taken over."""
        return [self.law_of(one) for one in sub]

    def law_of(self, chain: Chain) -> Value:
        r"""The law in `z \sim q(z \mid x)`, `q(z \mid x)` or `q` below an average."""
        match chain:
            case Chain((variable, law), ("sim",)):
                drawn = find_value(law) or self.choose_value(law, (variable,))
                if drawn is not None and drawn.targets == (variable,):
                    return drawn
            case Chain((below,), ()):
                found = find_value(below) or self.choose_value(below)
                if found is not None:
                    return found
        raise NotTables

    def value_in(self, node: object) -> Value | None:
        """The value of a law of the relation that a node is."""
        value = find_value(node)
        return value if value is not None and value.law in self.values else None

    def choose_value(self, law: Expr, variables: tuple[Expr, ...] = ()) -> Value | None:
        r"""The law that a name stands for, as the relation has it; None where it has no value of that law.

        A variational $q$ may be that of its only value, $q(z \mid x)$; $p$ is the law of x in $x \sim p$, whatever
        $p(x \mid z)$ stands beside it.

        Raises:
            NotTables: The relation has several values of it, or one under a condition.
        """
        name = find_law_name(law)
        found = list(dict.fromkeys(self.values.get(name, ()))) if name is not None else []
        if name is None or not found:
            return Value(name, variables) if name is not None and variables else None
        plain = Value(name, variables)
        if plain in found:
            return plain
        variational = name.partition("_")[0] == "q" and all(isinstance(one, Name) for one in found[0].given)
        if len(found) > 1 or (found[0].given and not variational):
            raise NotTables
        return found[0]

    def divergence(self, node: Times) -> tuple[Value, Value] | None:
        """The two laws of a Kullback-Leibler divergence that ends a product, None of anything else."""
        inside = node.factors[-1]
        if not isinstance(inside, Group) or len(inside.items) != 1 or inside.items[0].ops != ("parallel",):
            return None
        if _divergence_head(node) is None:
            return None
        first, second = inside.items[0].exprs
        left = find_value(first) or self.choose_value(first)
        right = find_value(second) or self.choose_value(second)
        if left is None and right is None and find_law_name(first) and find_law_name(second):
            variable = (Name("x"),)
            return Value(str(find_law_name(first)), variable), Value(str(find_law_name(second)), variable)
        if left is None or (right is None and find_law_name(second) is None):
            raise NotTables
        if right is not None and find_value(second) is None and right.targets != left.targets:
            raise NotTables
        return left, right or Value(str(find_law_name(second)), left.targets)

    # -- writing ------------------------------------------------------------------------------------------------

    def write(self, node: Any, bound: frozenset[str] = frozenset(), inside: frozenset[str] = frozenset()) -> Any:
        """A formula with tables in the place of laws.

        Args:
            node: The formula.
            bound: The indices that are bound around it.
            inside: The arguments that are summed over around it.
        """
        if isinstance(node, Derivative | Dots):
            raise NotTables
        if isinstance(node, Times):
            return self.write_product(node, bound, inside)
        if isinstance(node, Call) and (value := self.value_in(node)) is not None:
            return self.quotient(value, bound, inside)
        if isinstance(node, Call) and node.function == "E" and node.sub:
            return self.average(node, bound, inside)
        if isinstance(node, Big):
            return self.write_sum(node, bound, inside)
        if isinstance(node, Name | Sub) and (letter := to_latex(node)) in self.running:
            if not isinstance(node, Name):
                raise NotTables
            return Sub(node, (Chain((Name(self.index(letter, inside)),)),))  # the value that the index stands for
        if isinstance(node, tuple):
            return tuple(self.write(one, bound, inside) for one in node)
        return substitute(node, lambda part: None if part is node else self.write(part, bound, inside))

    def write_product(self, node: Times, bound: frozenset[str], inside: frozenset[str]) -> Expr:
        """A product, some factors of which are values of laws."""
        if (pair := self.divergence(node)) is not None:
            head = _divergence_head(node)
            assert head is not None
            factors = [self.write(one, bound, inside) for one in node.factors[:head]]
            over = [to_latex(one) for one in pair[0].targets]
            top, bottom = (self.quotient(one, bound, inside | set(over)) for one in pair)
            body = Times((top, Call("log", (Chain((Frac(top, bottom),)),))), ("",))
            whole = _in_brackets(self.sum_over(over, body))
            return Times((*factors, whole), ("",) * len(factors)) if factors else whole
        factors, ops, place = [], list(node.ops), 0
        while place < len(node.factors):
            pair_of = Times(node.factors[place : place + 2], ("",)) if place < len(node.ops) else None
            value = self.value_in(pair_of) if pair_of is not None and not node.ops[place] else None
            entropy = find_entropy(pair_of) if pair_of is not None and not node.ops[place] else None
            if entropy is not None:
                factors.append(self.entropy(entropy, bound, inside))
            elif value is not None:
                factors.append(self.quotient(value, bound, inside))
            if entropy is not None or value is not None:
                del ops[len(factors) - 1]
                place += 2
                continue
            factors.append(self.write(node.factors[place], bound, inside))
            place += 1
        return Times(tuple(factors), tuple(ops)) if ops else factors[0]

    def entropy(self, one: Entropy, bound: frozenset[str], inside: frozenset[str]) -> Expr:
        """An entropy, or an information, as the sum that it is."""
        arguments = one.arguments
        over = [to_latex(each) for each in arguments]
        if set(over) & inside:
            raise NotTables
        within = inside | set(over)
        joint = self.quotient(Value(self.law, arguments), bound, within)
        if one.shared:
            parts = tuple(self.quotient(Value(self.law, (each,)), bound, within) for each in arguments)
            ratio: Expr = Frac(joint, Times(parts, ("",)))
        else:
            ratio = self.quotient(Value(self.law, one.targets, one.given), bound, within)
        total = self.sum_over(over, Times((joint, Call("log", (Chain((ratio,)),))), ("",)))
        return _in_brackets(total if one.shared else Minus(_in_brackets(total)))

    def average(self, node: Call, bound: frozenset[str], inside: frozenset[str]) -> Expr:
        """An average, as the sum that it is."""
        laws = self.find_laws(node.sub)
        over = [to_latex(one) for value in laws for one in value.targets]
        if len(set(over)) != len(over) or set(over) & inside or len(node.args) != 1 or node.power is not None:
            raise NotTables
        if not node.args[0].alone or not self.shows_dependence(node.args[0].exprs[0], over):
            raise NotTables
        within = inside | set(over)
        parts = [self.quotient(value, bound, within) for value in laws]
        body = _in_brackets(self.write(node.args[0].exprs[0], bound, within))
        return _in_brackets(self.sum_over(over, Times((*parts, body), ("",) * len(parts))))

    def shows_dependence(self, body: Expr, over: Sequence[str]) -> bool:
        """Whether all that may depend on what an average is taken over shows it: laws, functions of it, and constants.

        Args:
            body: What is averaged.
            over: The arguments that it is averaged over.
        """
        arguments = {to_latex(one) for values in self.values.values() for value in values for one in value.arguments}
        laws = {law.partition("_")[0] for law in self.values}
        if not names_in(body) & {name for one in over for name in NAME.findall(one)}:
            return names_in(body) <= {name for one in (*arguments, *laws) for name in NAME.findall(one)}
        return find_other_letters(body, arguments | laws) <= _CONSTANTS

    def write_sum(self, node: Big, bound: frozenset[str], inside: frozenset[str]) -> Expr:
        """A sum or an integral, over an index where it runs over an argument of a law."""
        letters = self.letters_of(node) if node.op in ("sum", "int") else []
        if not letters:
            if node.op == "int":
                raise NotTables
            bound = bound | bound_letters(node)
            return replace(node, body=self.write(node.body, bound, inside))
        if set(letters) & inside:
            raise NotTables
        body = node.body.items[0].exprs[0] if node.op == "int" and isinstance(node.body, Group) else node.body
        return self.sum_over(letters, self.write(body, bound, inside | set(letters)))

    def sum_over(self, letters: Iterable[str], body: Expr) -> Expr:
        for letter in letters:
            body = self.with_width(letter, Big("sum", (Chain((Name(self.running[letter]),)),), None, body))
        return body

    def with_width(self, letter: str, total: Expr) -> Expr:
        """A sum over cells of any width, where it may be an integral and its size matters."""
        if not self.positive or letter in self.summed:
            return total
        width = Call("exp", (Chain((Name(rf"\Delta({letter})"),)),))
        return _in_brackets(Times((width, _in_brackets(total)), ("",)))

    def quotient(self, value: Value, bound: frozenset[str], inside: frozenset[str]) -> Expr:
        """A value of a law, as a joint table over the table of what is given."""
        joint = self.table(value.law, value.arguments, bound, inside)
        given = self.table(value.law, value.given, bound, inside)
        return joint if given == Num(Fraction(1)) else Frac(joint, given)

    def table(self, law: str, arguments: tuple[Expr, ...], bound: frozenset[str], inside: frozenset[str]) -> Expr:
        """The joint table of some arguments: the sum of the whole one over the indices that it lacks."""
        texts = {to_latex(one) for one in arguments}
        running = sorted(self.runs_in(law))
        held = [one for one in arguments if to_latex(one) not in running]
        if Value(law, ()).parameters & bound:
            raise NotTables  # p_i is another law for each i
        letters, shown = order_letters(held, bound)
        indices = [self.index(one, inside) if one in texts else self.marginal[one] for one in running]
        if len(indices) + len(letters) > MAX_INDICES:
            raise NotTables
        if not running and not held:
            return Num(Fraction(1))
        places = ", ".join([*(r"\cdot" for _ in running), *shown])
        name = Name(f"{law}({places})")
        parts = tuple(Chain((Name(one),)) for one in (*indices, *letters))
        whole: Expr = Sub(name, parts) if parts else name
        whole = Call("exp", (Chain((whole,)),)) if self.positive else whole
        for one in running:
            if one not in texts:
                whole = self.with_width(one, Big("sum", (Chain((Name(self.marginal[one]),)),), None, whole))
        return _in_brackets(whole) if isinstance(whole, Big) else whole

    def index(self, letter: str, inside: frozenset[str]) -> str:
        """The index of an argument that is summed over around this place, or held here."""
        return self.running[letter] if letter in inside else self.held[letter]

    def runs_in(self, law: str) -> set[str]:
        """The arguments of a law that are summed over in the relation."""
        own = {to_latex(one) for value in self.values.get(law, ()) for one in value.arguments}
        return (own or set(self.running)) & set(self.running)


def _in_brackets(body: Expr) -> Expr:
    return Group("(", (Chain((body,)),), ")")


def _find_variable(node: Big) -> Expr | None:
    """The letter that an integral over all values runs over, None of any other."""
    match node:
        case Big("int", below, above, Group("(", (Chain((_,), ()), Chain((letter,), ())))):
            ends = [*(one.exprs[-1] for one in below), *([above] if above is not None else [])]
            endless = [one for one in ends if one in (Name(r"\infty"), Minus(Name(r"\infty")))]
            if len(below) < 2 and (len(endless) == len(ends) and len(ends) != 1):
                return letter
    return None


def _divergence_head(node: Times) -> int | None:
    """Where the head of a divergence begins in a product that ends with its arguments, None without one."""
    heads = node.factors[:-1]
    if any(node.ops[len(heads) - 1 :]) or not heads:
        return None
    last = heads[-1]
    if isinstance(last, Sub) and last.base == Name("D"):
        label = to_latex(last.items[0].exprs[0]).replace(" ", "") if len(last.items) == 1 else ""
        return len(heads) - 1 if label in _DIVERGENCES else None
    if isinstance(last, Name) and last.text in _DIVERGENCES:
        return len(heads) - 1
    if last == Name("D"):
        return len(heads) - 1
    if heads[-2:] == (Name("K"), Name("L")) and not node.ops[len(heads) - 2]:
        return len(heads) - 2
    return None


def write_with_tables(chain: Chain) -> Chain | None:
    """One relation with joint tables in the place of laws, None where it has no law or another form.

    Args:
        chain: The relation.
    """
    tables = Tables(positive=chain.ops[0] in _BOUNDED)
    try:
        tables.read(chain.exprs)
        given = any(value.given for values in tables.values.values() for value in values)
        if not tables.running and not given:
            return None
        if any(_is_plain(node, tables.values) for side in chain.exprs for node in _outside(side)):
            return None
        return replace(chain, exprs=tuple(tables.write(side) for side in chain.exprs))
    except NotTables:
        return None


def names_entropies(step: Step) -> bool:
    """Whether a step has an entropy or an information.

    Args:
        step: A step with laws.
    """
    return bool(_list_entropies(step))


def may_be_cross_entropies(step: Step) -> bool:
    r"""Whether the entropies of a step may be those of one law under another, $H(T, S)$: none has a bar, or is I.

    Args:
        step: A step with laws.
    """
    found = _list_entropies(step)
    return any(len(one.targets) > 1 for one in found) and not any(one.given or one.shared for one in found)


def _list_entropies(step: Step) -> list[Entropy]:
    with suppress(Unreadable):
        nodes = [one for side in parse_statement(step.text, step.line).chains[0].exprs for one in walk(side)]
        return [entropy for one in nodes if isinstance(one, Times) for entropy in find_entropies(one)]
    return []


def shows_laws(step: Step) -> bool:
    r"""Whether each law of a step has a bar, or an average or a divergence is taken of it: $P(x)$ alone shows nothing.

    Args:
        step: A step with laws.
    """
    tables = Tables()
    with suppress(Unreadable, NotTables):
        sides = parse_statement(step.text, step.line).chains[0].exprs
        tables.read(sides)
        shown = {law for law, values in tables.values.items() if any(one.given for one in values)}
        for node in (one for side in sides for one in walk(side)):
            if isinstance(node, Call) and node.function == "E" and node.sub:
                shown |= {one.law for one in tables.find_laws(node.sub)}
            elif isinstance(node, Times) and (pair := tables.divergence(node)) is not None:
                shown |= {one.law for one in pair}
        return shown >= set(tables.values)
    return False


def exchanges_states(step: Step) -> bool:
    r"""Whether a law has both `p(x' \mid x)` and `p(x \mid x')`, of which the first may be that of a move.

    The one of $x_t$ under $x_{t - 1}$ and the other way round are laws of two variables with names of their own.

    Args:
        step: A step with laws.
    """
    tables = Tables()
    with suppress(Unreadable, NotTables):
        tables.read(parse_statement(step.text, step.line).chains[0].exprs)
    pairs = [(one.law, one.targets, one.given) for values in tables.values.values() for one in values]
    exchanged = [(first, last) for law, first, last in pairs if first and last and (law, last, first) in pairs]
    return any(not (isinstance(a[0], Sub) and isinstance(b[0], Sub)) for a, b in exchanged)


def _outside(side: Expr) -> list[object]:
    """The nodes of a side; the laws in front of their arguments, and below averages, are left out."""
    out: list[object] = []
    stack: list[object] = [side]
    while stack:
        node = stack.pop()
        out.append(node)
        if isinstance(node, Times):
            behind = (*node.factors[1:], None)
            laws = (
                isinstance(inside, Group) and find_law_name(one)
                for one, inside in zip(node.factors, behind, strict=True)
            )
            stack += [one for one, law in zip(node.factors, laws, strict=True) if not law]
        elif isinstance(node, Call):
            stack += list(node.args)
        elif isinstance(node, Chain) and node.ops == ("parallel",):
            stack += [one for one in node.exprs if find_law_name(one) is None]
        else:
            stack += children(node)
    return out


def _is_plain(node: object, values: dict[str, list[Value]]) -> bool:
    """Whether a node is the letter of a law without arguments: it is a number as well."""
    return isinstance(node, Name | Sub) and to_latex(node) in values


def attach_tables(steps: Sequence[Step | Unread], supply: Supply | None) -> Sequence[Step | Unread]:
    """Give each step with laws its relation with joint tables, read by itself.

    Args:
        steps: The steps of a display.
        supply: Declares what is missing in a statement.
    """
    for step in steps if supply is not None else ():
        if not isinstance(step, Step) or step.assumed or step.conditions or step.op not in ("=", *_BOUNDED):
            continue
        if ";" in _INFORMATION.sub("", step.text):
            continue  # p(x; \theta) has a parameter
        with suppress(Unreadable, ShapeMismatch, RecursionError):
            chains = parse_statement(step.text, step.line).chains
            chain = write_with_tables(chains[0]) if len(chains) == 1 and len(chains[0].ops) == 1 else None
            if chain is not None and supply is not None:
                step.tables = _read_alone(step, chain, supply)
    return steps


def _read_alone(step: Step, chain: Chain, supply: Supply) -> Step:
    """A step with another relation in its place, whose symbols are read by it alone."""
    context = step.context.copy()
    context.understood, context.loose = [], frozenset()
    context.forget_readings(step.line)
    one = supply(context, DisplayStatement(Statement((chain,)), step.line), True, True)
    chain = one.statement.chains[0]
    plain = replace(step, context=context, left=chain.exprs[0], op=chain.ops[0], right=chain.exprs[1])
    return replace(plain, strange="", plain=None, tables=None)


__all__ = [
    "attach_tables",
    "exchanges_states",
    "may_be_cross_entropies",
    "names_entropies",
    "shows_laws",
    "write_with_tables",
]

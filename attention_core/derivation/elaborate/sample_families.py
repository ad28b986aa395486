r"""Families whose members are written with a label: the samples $x^{(1)}, \dots, x^{(n)}$.

Such a family has a name of its own, $x^{(\cdot)}$, since $x$ and $x_1$ may be declared beside it: an input and its
entry. What stands in the label is the index of the member, so $x_j^{(i)}$ is entry j of member i. Labels that nothing
declares as a family are parts of names, as in $W^{(2)}$.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import partial
from typing import TYPE_CHECKING

from attention_core.derivation.elaborate.functions import substitute
from attention_core.derivation.latex.printer import FAMILY_LABEL, family_name, symbol_name
from attention_core.derivation.latex.syntax import Chain, Dots, Expr, Group, Name, Sub, Sup, names_in
from attention_core.derivation.terms.context import Context

if TYPE_CHECKING:
    from attention_core.derivation.elaborate.elaborator import Elaborator


def label_of(node: object) -> tuple[str, Chain] | None:
    """The letter and the label that a node is, None of anything else.

    Args:
        node: A node of a formula.
    """
    match node:
        case Sup(base, Group("(", (label,))) if label.alone and (name := symbol_name(base)) is not None:
            return name, label
    return None


def read_sample(samples: Container[str], node: object) -> Sub | None:
    r"""`x^{(i)}` as the member `x^{(\cdot)}_i` of a family, and `x_j^{(i)}` as its entry; None of anything else.

    Args:
        samples: The letters that number samples.
        node: A node of a formula.
    """
    inner, items = (node.base, node.items) if isinstance(node, Sub) else (node, ())
    found = label_of(inner)
    if found is None or found[0] not in samples:
        return None
    return Sub(Name(family_name(found[0])), (found[1], *items))


def declared_samples(context: Context) -> frozenset[str]:
    """The letters whose labels are indices of a declared family.

    Args:
        context: What is declared.
    """
    return frozenset(
        name.removesuffix(FAMILY_LABEL)
        for name, symbol in context.symbols.items()
        if name.endswith(FAMILY_LABEL) and (symbol.kind == "family" or symbol.params)
    )


def declared_member(context: Context, node: object) -> Sub | None:
    """A node as a member of a declared family; None of anything else, and of a label that is declared by itself.

    Args:
        context: What is declared.
        node: A node of a formula.
    """
    samples = declared_samples(context)
    if not samples or not isinstance(node, Sub | Sup) or symbol_name(node) in context.symbols:
        return None
    if isinstance(node, Sub) and symbol_name(node.base) in context.symbols:
        return None  # an entry of a label that is declared by itself
    return read_sample(samples, node)


def write_samples(context: Context, chains: Sequence[Chain]) -> tuple[Chain, ...]:
    """Formulas with members in the place of the labels of declared families.

    Args:
        context: What is declared.
        chains: The formulas.
    """
    if not declared_samples(context):
        return tuple(chains)
    written = (substitute(one, partial(declared_member, context)) for one in chains)
    return tuple(one for one in written if isinstance(one, Chain))


def write_run(left: Sequence[Expr]) -> list[Expr]:
    r"""What stands left of a domain, with members of families where dots stand between labels of one letter.

    Args:
        left: The symbols: those of `x^{(1)}, \dots, x^{(n)}`, for example.

    Example:
        >>> label = Group("(", (Chain((Name("n"),)),), ")")
        >>> write_run([Sup(Name("x"), label), Dots(), Sup(Name("x"), label)])[0].base
        Name(text='x^{(\\cdot)}')
    """
    runs = set()
    for before, dots, behind in zip(left, left[1:], left[2:], strict=False):
        ends = [found[0] for one in (before, behind) if (found := label_of(one)) is not None]
        if isinstance(dots, Dots) and len(ends) == 2 and ends[0] == ends[1]:
            runs.add(ends[0])
    return [read_sample(runs, one) or one for one in left]


def defined_member(elab: Elaborator, left: Expr, right: Expr) -> Sub | None:
    r"""The left side of a definition as the member of a new family, in `z^{(i)} := W x^{(i)}`; None of anything else.

    Args:
        elab: Knows which letters are declared: a definition has an index that is not.
        left: What is defined.
        right: What it is defined as.
    """
    found = label_of(left)
    if found is None or not isinstance(letter := found[1].exprs[0], Name) or elab.is_declared(letter.text):
        return None
    return read_sample({found[0]}, left) if letter.text in names_in(right) else None

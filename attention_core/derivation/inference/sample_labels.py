r"""Labels that are indices: `x^{(i)}` under a sum over i is another vector for each i, and not one symbol.

A letter with a label in brackets is a symbol of its own: $W^{(2)}$ of the second layer. Where a sum, a product or an
extreme runs over the label it numbers samples, and $\sum_i x^{(i)} = n x^{(i)}$ is false. There all of that letter,
$x^{(1)}$ and $x_j^{(i)}$ as well, is a family with the label as its first index.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from attention_core.derivation.document.display import DisplayStatement
from attention_core.derivation.elaborate.elaborator import index_letters
from attention_core.derivation.elaborate.functions import substitute
from attention_core.derivation.elaborate.sample_families import label_of, read_sample, write_samples
from attention_core.derivation.inference.usage import bound_letters, walk
from attention_core.derivation.latex.printer import all_names
from attention_core.derivation.latex.syntax import Big, Chain, names_in
from attention_core.derivation.terms.context import Caveat, Context


def read_samples(
    context: Context, formulas: Sequence[Chain], written: DisplayStatement
) -> tuple[list[Chain], DisplayStatement]:
    """Some formulas, and a statement among them, with members of families in the place of samples.

    Args:
        context: What is declared: its families, and their members, are read where they stand as well.
        formulas: Those of a section.
        written: The statement.
    """
    statement = written.statement
    samples = find_samples((*formulas, *statement.chains))
    formulas = write_samples(context, formulas)
    if not samples:
        return list(formulas), written
    rule = partial(read_sample, samples)
    around, own = ([substitute(one, rule) for one in some] for some in (formulas, statement.chains))
    read = replace(statement, chains=tuple(one for one in own if isinstance(one, Chain)))
    return [one for one in around if isinstance(one, Chain)], replace(written, statement=read)


def forget_single(context: Context, chains: Iterable[Chain], line: int) -> bool:
    """Forget the symbols that were declared one by one and that a sum runs over; return whether there were any.

    "Let $x_i \\in \\mathbb{R}^d$ be a sample" names all of them. What was assumed of one is a caveat then.

    Args:
        context: What is declared.
        chains: The formulas of a statement.
        line: Its line.
    """
    single: set[str] = set()
    for one in (node for chain in chains for node in walk(chain) if isinstance(node, Big)):
        named = {name for name in all_names(one.body) if name in context.symbols and name not in context.inferred}
        arrays = (name for name in named if context.symbols[name].kind == "array")
        single |= {name for name in arrays if index_letters(name) & bound_letters(one)}
    for name in single:
        for lost in (one for one in context.hypotheses if name in one.mentions):
            context.caveats.append(Caveat(lost.line, lost.text, context.level, None, whole=True))
        context.forget(name, line)
        context.dropped.pop(name, None)
    return bool(single)


def find_samples(formulas: Iterable[Chain]) -> frozenset[str]:
    """The letters that have a label over which a sum runs, in some formulas.

    Args:
        formulas: Those of a section.
    """
    sums = (node for chain in formulas for node in walk(chain) if isinstance(node, Big))
    return frozenset(
        name for one in sums for name, label in _labels_in(one.body) if names_in(label) & bound_letters(one)
    )


def _labels_in(node: object) -> Iterable[tuple[str, Chain]]:
    return (found for one in walk(node) if (found := label_of(one)) is not None)


__all__ = ["find_samples", "forget_single", "read_samples"]

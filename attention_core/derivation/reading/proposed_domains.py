r"""Which declaration to propose for a letter that a formula uses: a size, an index, a random symbol, or a number.

The upper end of a sum is a size, a letter in a subscript or in a label an index, and what is averaged has a law.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from attention_core.derivation.document.blocks import Block, Paragraph
from attention_core.derivation.inference.index_sets import index_sets
from attention_core.derivation.inference.usage import bound_letters, walk
from attention_core.derivation.latex.printer import symbol_name
from attention_core.derivation.latex.syntax import Big, Call, Chain, Expr, Group, Name, Sub, Sup, Unreadable, names_in
from attention_core.derivation.reading.step import Step
from attention_core.derivation.words.caveats import chains_of

AVERAGES = frozenset({"E", "Var", "Cov"})
_NUMBER = re.compile(r"(?P<name>\S+) is not declared: write 'Let \$(?P=name) \\in \\mathbb\{R\}\$' \(or its shape\)")
_FORMULA = re.compile(r"(?<!\\)\$([^$]+)(?<!\\)\$")
_NOISE = re.compile(r"\\(?:var)?epsilon(?![a-z])|\\(?:eta|xi|zeta)(?![a-z])|[ZXWUY](?![a-z])")
_SIZED = (Name("I"), Name(r"\mathbf{1}"), Name(r"\mathbf{0}"))


def propose_domain(step: Step, message: str) -> str:
    """A message about an undeclared letter, with the domain that its use suggests in the place of the numbers.

    Args:
        step: The step that cannot be read.
        message: Why it cannot.
    """
    found = _NUMBER.match(message)
    if found is None:
        return message
    name, sides = found["name"], _sides_of(step)
    peers = tuple(side for one in step.peers if isinstance(one, Step) for side in _sides_of(one))
    if name.split("_{")[0] in index_sets((*sides, *peers)):
        return f"{name} is a set of indices, which no declaration describes: write a range, such as \\sum_{{i=1}}^{{m}}"
    if name in _sizes_of(peers) or _counts_entries(step, name):
        written = rf"'Let ${name} \in \mathbb{{N}}$'"
    elif name in _indices_of(sides):
        written = rf"'Let ${name} \in \{{1, \dots, n\}}$' (or its range)"
    elif is_noise(name) and name in averaged_names(step):
        written = rf"'Draw ${name} \sim \mathcal{{N}}(0, 1)$' (or its law)"
    else:
        return message
    return f"{name} is not declared: write {written}{message[found.end() :]}"


def _counts_entries(step: Step, name: str) -> bool:
    r"""Whether the document has a letter in `\mathbb{R}^{n \times d}` or as the end of `1, \dots, d` anywhere."""
    letter = re.sub(r"\\\{(.*?)\\\}", r"\\{?\1\\}?", re.escape(name))
    alone = rf"(?<![A-Za-z\\]){letter}(?![A-Za-z_])"
    inside = r"(?:[^{}]|\{[^{}]{0,20}\}){0,60}"
    size = re.compile(
        rf"\\math(?:bb|bf)\s*\{{?\s*R\s*\}}?\s*\^\s*(?:{alone}|\{{{inside}{alone}{inside}\}})|"
        rf"(?:\\[lc]?dots|\.\.\.)\s*,\s*(?:[A-Za-z]_\{{?\s*)?{alone}|\\in\s*\[\s*{alone}\s*\]"
    )
    texts = (one.paragraph.text for one in step.context.failed)
    prose = (one.quote for one in step.far_words)
    return any(size.search(one) for one in (*texts, *prose, *(one.text for one in step.peers)))


def _sides_of(step: Step) -> tuple[Expr | Chain, ...]:
    """The formulas that a step is made of."""
    return (step.left, step.right, *(chain for chain, _ in step.assumed), *step.conditions)


def averaged_names(step: Step) -> set[str]:
    """The names that stand in an average of a step, and those that their definitions mention.

    Args:
        step: The step.
    """
    calls = [node for side in (step.left, step.right) for node in walk(side) if isinstance(node, Call)]
    inside = [one for node in calls if node.function in AVERAGES for one in walk(node.args)]
    fresh = {name for one in inside if isinstance(one, Name | Sub | Sup) and (name := symbol_name(one)) is not None}
    found: set[str] = set()
    while fresh:
        found |= fresh
        known = [step.context.symbols[name] for name in fresh if name in step.context.symbols]
        fresh = {name for one in known for name in one.mentions} - found
    return found


def is_noise(name: str) -> bool:
    """Whether a letter is one of noise: in an average it is what is random, and not a parameter.

    Args:
        name: The symbol.
    """
    return bool(_NOISE.match(name))


def laws_in(blocks: Sequence[Block]) -> dict[str, str]:
    r"""The laws that sentences state, by symbol, `\mathcal{N}(0, \sigma^2)` for `\epsilon`.

    Args:
        blocks: Those of a document.
    """
    found: dict[str, str] = {}
    for block in blocks:
        for formula in _FORMULA.findall(block.text) if isinstance(block, Paragraph) else ():
            for chain in _laws_of(formula, block.line):
                name = symbol_name(chain.exprs[0])
                if name is not None:
                    found.setdefault(name, " ".join(formula.partition(r"\sim")[2].split()))
    return found


def _laws_of(formula: str, line: int) -> Iterator[Chain]:
    """The relations of a formula, if it states one law and nothing else."""
    if r"\sim" not in formula:
        return
    try:
        chains = chains_of(formula, line)
    except (Unreadable, RecursionError):
        return
    if len(chains) == 1 and chains[0].ops == ("sim",):
        yield chains[0]


def _sizes_of(sides: tuple[Expr | Chain, ...]) -> set[str]:
    r"""The letters at the upper end of a sum, below `I`, `\mathbf{1}` and `\mathbf{0}`, and in `n!` and binomials."""
    out: set[str] = set()
    for node in (one for side in sides for one in walk(side)):
        if isinstance(node, Big) and node.op in ("sum", "prod", "max", "min"):
            out |= names_in(node.above)
        elif isinstance(node, Sub) and node.base in _SIZED:
            out |= names_in(node.items)
        elif isinstance(node, Call) and node.function in ("factorial", "binom"):
            out |= names_in(node)
    return out


def _indices_of(sides: tuple[Expr | Chain, ...]) -> set[str]:
    """The letters in subscripts and labels that no sum binds."""
    nodes = [one for side in sides for one in walk(side)]
    bound = {name for one in nodes if isinstance(one, Big) for name in bound_letters(one)}
    out: set[str] = set()
    for one in nodes:
        if isinstance(one, Sub):
            out |= names_in(one.items)
        elif isinstance(one, Sup) and isinstance(one.exponent, Group):
            out |= names_in(one.exponent)
    return out - bound


__all__ = ["AVERAGES", "averaged_names", "is_noise", "laws_in", "propose_domain"]

"""The state of a reader of declarations.

What a paragraph has declared so far and what waits for the end of its sentence. `declare.Reader` adds how it is read.
"""

from __future__ import annotations

from dataclasses import dataclass

from attention_core.derivation.document.blocks import Paragraph
from attention_core.derivation.elaborate.hypotheses import relations_of
from attention_core.derivation.latex.printer import all_names, to_latex
from attention_core.derivation.latex.syntax import Chain, Expr, Name, Unreadable
from attention_core.derivation.reading.properties import PropertyMention
from attention_core.derivation.reading.surroundings import Surroundings
from attention_core.derivation.terms.context import Context, Hypothesis
from attention_core.derivation.terms.relevance import averaged_without_law


@dataclass
class Item:
    """One comma-separated piece of an inline formula: what stands left of its relation, and the chain."""

    left: list[Expr]
    chain: Chain
    arrows: bool = False


@dataclass
class Pending:
    """A hypothesis that waits for its `for ...`."""

    chain: Chain
    line: int
    text: str
    conditions: list[Chain]
    narrower: Chain | None = None  # the same without its ends, which some authors mean


class ReaderState:
    """What one paragraph has declared, and what is still open."""

    def __init__(self, context: Context, paragraph: Paragraph, lenient: bool = False) -> None:
        self.context, self.paragraph = context, paragraph
        self.lenient = lenient  # a symbol whose declaration cannot be read stays undeclared; the rest is read
        self.failed: list[Unreadable] = []
        self.pending: list[Pending] = []
        self.quantified: list[Chain] = []  # what the next hypothesis holds for, as the words in front of it have it
        self.drawn: list[str] = []
        self.held: set[str] = set()  # what the hypotheses of this sentence mention
        self.indices: list[str] = []
        self.verb = "let"
        self.sentence = 0
        self.law_index = ""
        self.bold: dict[str, bool] = {}  # whether the letters that a piece declares are in bold
        self.around = Surroundings()  # of the formula that is read
        self.subjects: list[list[str]] = []  # what the formulas right before are about, each the names of one
        self.ahead: list[PropertyMention] = []  # properties that stand before their symbol, in the prose at `ahead_at`
        self.ahead_at = 0

    def settle(self) -> None:
        """Turn pending relations into hypotheses."""
        pending, self.pending = self.pending, []
        for one in pending:
            narrow = one.narrower and relations_of(self.context, one.narrower, one.conditions, one.line, separate=True)
            relations = relations_of(self.context, one.chain, one.conditions, one.line, separate=True)
            for place, relation in enumerate(relations):
                if random := averaged_without_law(self.context, (relation.left, relation.right)):
                    message = f"'{one.text}' averages over {random}, which has no law: write it, "
                    message += "such as $x \\sim \\mathcal{N}(0, I_d)$, or its mean and variance"
                    raise Unreadable(message, one.line)
                if relation.op in ("~", ">>", "<<"):
                    raise Unreadable(f"'{one.text}' says nothing exact: write an inequality", one.line)
                bound = {
                    name for name, _, _ in relation.over
                }  # a letter of its own: declaring it later changes nothing
                named = all_names(one.chain) | {n for c in one.conditions for n in all_names(c)}
                mentions = frozenset(named - bound)
                self.held |= mentions
                less = narrow[place] if narrow else None
                self.context.assume(Hypothesis(relation, one.line, self.context.level, one.text, mentions, less))
            where = " for " + ", ".join(to_latex(c) for c in one.conditions) if one.conditions else ""
            self.context.understood.append((one.line, f"assumed: {one.text}{where}"))

    def distinct(self, line: int) -> None:
        """The indices declared last differ from each other."""
        for place, left in enumerate(self.indices):
            for right in self.indices[place + 1 :]:
                chain = Chain((Name(left), Name(right)), ("!=",), (line,))
                self.pending.append(Pending(chain, line, f"{left} \\ne {right}", []))

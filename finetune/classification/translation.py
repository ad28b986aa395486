"""Score translations by entailment: does the translation follow from the reference, and the reference from it?

A classifier of pairs gives both probabilities. How far their mean goes along with human scores is measured beside BLEU.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from finetune.data.corpus import read_text
from finetune.data.tables import Table
from finetune.errors import BadInput

Array = npt.NDArray[np.float64]
COLUMNS = ("LP", "translation", "reference", "HUMAN_score", "sentBLEU")
"""Of a file of judgements, as WMT17's segment scores are published."""
RESAMPLES = 1000


@dataclass(frozen=True)
class Judgements:
    """Translations of one language pair with what people thought of them.

    Args: pair, such as de-en; translations, references; human, their scores; bleu, sentence BLEU; rows, file and line.
    """

    pair: str
    translations: list[str]
    references: list[str]
    human: Array
    bleu: Array
    rows: list[str]

    def __len__(self) -> int:
        return len(self.translations)

    def both_directions(self) -> Table:
        """Pairs for a classifier: reference then translation for all, and then translation with reference."""
        first, second = self.references + self.translations, self.translations + self.references
        return Table(first, second, None, self.rows * 2)


def read_judgements(path: str | Path) -> Judgements:
    """Read a table with tabs, a language pair a file; quotation marks are letters.

    Raises: BadInput, naming the line, where a column is not there, a score is not a number, or pairs are mixed.
    """
    lines = [(number, line.split("\t")) for number, line in enumerate(read_text(path).split("\n"), 1) if line.strip()]
    head = lines[0][1] if lines else []
    missing = [name for name in COLUMNS if name not in head]
    if missing or len(lines) < 2:
        raise BadInput(f"{path}: there is no {'column ' + repr(missing[0]) if missing else 'translation'}")
    place = {name: head.index(name) for name in COLUMNS}
    cells: dict[str, list[str]] = {name: [] for name in COLUMNS}
    for number, fields in lines[1:]:
        if len(fields) != len(head):
            raise BadInput(f"{path}, line {number}: {len(fields)} columns, but should be {len(head)}")
        for name in COLUMNS:
            cells[name].append(fields[place[name]])
    if len(set(cells["LP"])) > 1:
        raise BadInput(f"{path} has several language pairs: {', '.join(sorted(set(cells['LP'])))}")
    numbers = [number for number, _ in lines[1:]]
    human, bleu = (_numbers(path, name, cells[name], numbers) for name in ("HUMAN_score", "sentBLEU"))
    rows = [f"{path}, line {number}" for number in numbers]
    return Judgements(cells["LP"][0], cells["translation"], cells["reference"], human, bleu, rows)


def _numbers(path: str | Path, name: str, texts: Sequence[str], numbers: Sequence[int]) -> Array:
    found = np.empty(len(texts))
    for n, text in enumerate(texts):
        try:
            found[n] = float(text)
        except ValueError:
            found[n] = np.nan
        if not np.isfinite(found[n]):
            raise BadInput(f"{path}, line {numbers[n]}: {name} {text[:20]!r} is not a number")
    return found


def entailment_scores(probabilities: Sequence[Sequence[float]], entails: int) -> Array:
    """The mean of both directions' probability of entailment.

    s_i = (p(translation_i | reference_i) + p(reference_i | translation_i)) / 2: a translation that leaves something
    out is entailed and does not entail, one that adds something the other way round.

    Args: probabilities, of `Judgements.both_directions`, a row a pair; entails, the column of entailment.

    >>> entailment_scores([[0.9, 0.1], [0.5, 0.5]], 0)
    array([0.7])
    """
    column = np.array([row[entails] for row in probabilities])
    count = len(column) // 2
    mean: Array = (column[:count] + column[count:]) / 2
    return mean


def pearson(a: Array, b: Array) -> float:
    """Pearson's correlation; nan where a side is constant."""
    x, y = a - a.mean(), b - b.mean()
    size = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / size if size else float("nan")


def kendall(a: Array, b: Array) -> float:
    """Kendall's tau-b: pairs in the same order less pairs in the other, over the pairs that no side ties.

    tau_b = (P - Q) / sqrt((n_0 - n_1)(n_0 - n_2)), n_0 all pairs, n_1 and n_2 those tied in a and in b.

    Source: Kendall (1945), "The treatment of ties in ranking problems".
    """
    x, y = (np.sign(side[:, None] - side[None]) for side in (a, b))
    size = float(np.sqrt((x * x).sum() * (y * y).sum()))
    return float((x * y).sum()) / size if size else float("nan")


@dataclass(frozen=True)
class Correlation:
    """A correlation with human scores and its 95 % interval (bootstrap over translations)."""

    value: float
    low: float
    high: float


def correlations(
    judgements: Judgements, scores: Mapping[str, Array], seed: int = 0
) -> dict[str, dict[str, Correlation]]:
    """Pearson's and Kendall's correlation of every score with the human ones.

    Args: judgements; scores, by name, one a translation; seed, of the draws, which all scores share.
    Returns: by name of the score, by name of the correlation.
    """
    generator = np.random.default_rng(seed)
    draws = [generator.integers(len(judgements), size=len(judgements)) for _ in range(RESAMPLES)]
    found: dict[str, dict[str, Correlation]] = {}
    for name, values in scores.items():
        found[name] = {}
        # Kendall's takes n^2 a draw: fewer of them, whose quantiles are coarser.
        for kind, measure, count in (("pearson", pearson, RESAMPLES), ("kendall", kendall, RESAMPLES // 5)):
            drawn = [measure(values[rows], judgements.human[rows]) for rows in draws[:count]]
            low, high = np.nanquantile(drawn, [0.025, 0.975])
            found[name][kind] = Correlation(measure(values, judgements.human), float(low), float(high))
    return found

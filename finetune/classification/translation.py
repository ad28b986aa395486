"""Score translations by entailment: does the translation follow from the reference, and the reference from it?

A classifier of pairs gives both probabilities. How far their mean goes along with human scores is measured beside BLEU
and chrF, and so is what each score makes of references in which a negation, a number or a name was changed.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from finetune.data.corpus import read_text
from finetune.data.tables import Table
from finetune.errors import BadInput, count_columns

Array = npt.NDArray[np.float64]
COLUMNS = ("LP", "translation", "reference", "HUMAN_score", "sentBLEU")
"""Of a file of judgements, as WMT17's segment scores are published."""
RESAMPLES = 1000


@dataclass(frozen=True)
class Judgements:
    """Translations of one language pair with what people thought of them.

    Args: pair, such as de-en; translations, references; human, their scores; bleu, sentence BLEU; rows, file and line;
        sources, the sentences that were translated, where the file has them.
    """

    pair: str
    translations: list[str]
    references: list[str]
    human: Array
    bleu: Array
    rows: list[str]
    sources: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.translations)

    def both_directions(self) -> Table:
        """Pairs for a classifier: reference then translation for all, and then translation with reference."""
        return both_ways(self.translations, self.references)


def both_ways(translations: Sequence[str], references: Sequence[str]) -> Table:
    """Return pairs for a classifier: reference then translation for all, and then translation with reference."""
    first, second = [*references, *translations], [*translations, *references]
    return Table(first, second, None, [f"pair {number + 1}" for number in range(len(references))] * 2)


def read_judgements(path: str | Path) -> Judgements:
    """Read a table with tabs, a language pair a file; quotation marks are letters.

    Raises: BadInput, naming the line, where a column is not there, a score is not a number, or pairs are mixed.
    """
    lines = [(number, line.split("\t")) for number, line in enumerate(read_text(path).split("\n"), 1) if line.strip()]
    head = lines[0][1] if lines else []
    missing = [name for name in COLUMNS if name not in head]
    if missing or len(lines) < 2:
        raise BadInput(f"{path}: there is no {'column ' + repr(missing[0]) if missing else 'translation'}")
    names = (*COLUMNS, "source") if "source" in head else COLUMNS
    place = {name: head.index(name) for name in names}
    cells: dict[str, list[str]] = {name: [] for name in names}
    for number, fields in lines[1:]:
        if len(fields) != len(head):
            raise BadInput(f"{path}, line {number}: {count_columns(len(fields))}, but should be {len(head)}")
        for name in names:
            cells[name].append(fields[place[name]])
    if len(set(cells["LP"])) > 1:
        raise BadInput(f"{path} has several language pairs: {', '.join(sorted(set(cells['LP'])))}")
    numbers = [number for number, _ in lines[1:]]
    human, bleu = (_numbers(path, name, cells[name], numbers) for name in ("HUMAN_score", "sentBLEU"))
    rows = [f"{path}, line {number}" for number in numbers]
    sources = tuple(cells.get("source", ()))
    return Judgements(cells["LP"][0], cells["translation"], cells["reference"], human, bleu, rows, sources)


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


def chrf(translation: str, reference: str, n: int = 6, beta: float = 2.0) -> float:
    """Return chrF, the F-score of shared character n-grams, between 0 and 1; spaces do not count.

    chrF = (1 + b^2) P R / (b^2 P + R), P and R the means over n = 1 ... 6 of precision and recall, where both have one.

    Args:
        translation: what is scored.
        reference: what it is compared with.
        n: characters of the longest n-gram.
        beta: how many times recall weighs as much as precision.
    Source: Popović (2015), "chrF: character n-gram F-score for automatic MT evaluation"; the values are sacrebleu's.

    >>> chrf("the cat", "the cat"), chrf("abc", "xyz")
    (1.0, 0.0)
    """
    grams = [[_grams(text, size) for text in (translation, reference)] for size in range(1, n + 1)]
    kept = [(a, b) for a, b in grams if a and b]
    if not kept:
        return 0.0
    shared = [sum((a & b).values()) for a, b in kept]
    precision = sum(s / a.total() for s, (a, _) in zip(shared, kept, strict=True)) / len(kept)
    recall = sum(s / b.total() for s, (_, b) in zip(shared, kept, strict=True)) / len(kept)
    weight = beta**2
    return (1 + weight) * precision * recall / (weight * precision + recall) if precision + recall else 0.0


def _grams(text: str, size: int) -> Counter[str]:
    joined = "".join(text.split())
    return Counter(joined[place : place + size] for place in range(len(joined) - size + 1))


def sentence_bleu(translation: str, reference: str, n: int = 4) -> float:
    """Return BLEU of one sentence, between 0 and 1; words and signs are what stands between spaces.

    BLEU = min(1, exp(1 - r / c)) prod_k ((m_k + 1) / (t_k + 1))^(1/n) over k = 1 ... n, where m_k of the t_k word
    k-grams of the translation stand in the reference, and c and r are the words of both.

    Args:
        translation: what is scored.
        reference: what it is compared with.
        n: words of the longest n-gram.
    Source: Lin and Och (2004), "ORANGE"; with one added for every k it is Moses' `sentence-bleu`, which WMT17's files
        of segments have as `sentBLEU`.

    >>> sentence_bleu("the cat sat on it", "the cat sat on it")
    1.0
    >>> round(sentence_bleu("the cat", "a cat sat"), 3)
    0.461
    """
    words, others = translation.split(" "), reference.split(" ")
    score = min(1.0, math.exp(1 - len(others) / len(words)))
    for size in range(1, n + 1):
        own, shared = (Counter(zip(*(side[k:] for k in range(size)), strict=False)) for side in (words, others))
        score *= (((own & shared).total() + 1) / (own.total() + 1)) ** (1 / n)
    return score


AUXILIARIES = "is|are|was|were|will|would|can|could|should|must|has|have|had|may|might"
SPELT = {"two": "five", "three": "seven", "four": "nine", "five": "two", "six": "ten", "seven": "three", "ten": "six"}


def change_negation(text: str) -> str | None:
    """Return a text with its first "not" taken out, or one put behind its first auxiliary; None without either.

    >>> change_negation("he is here"), change_negation("he is not here"), change_negation("rain")
    ('he is not here', 'he is here', None)
    """
    if re.search(r"\bnot\b", text):
        return re.sub(r"\bnot\b ?", "", text, count=1).rstrip()
    changed, count = re.subn(rf"\b({AUXILIARIES})\b", r"\1 not", text, count=1)
    return changed if count else None


def change_number(text: str) -> str | None:
    """Return a text whose first number is the next one (from 9 the one before), or another word; None without one.

    >>> change_number("on 19 May"), change_number("two men"), change_number("men")
    ('on 18 May', 'five men', None)
    """

    def beside(match: re.Match[str]) -> str:
        number = int(match[0])
        return str(number + (1 if number % 10 != 9 else -1)).zfill(len(match[0]))

    for pattern, change in ((r"\d+", beside), (rf"\b({'|'.join(SPELT)})\b", lambda m: SPELT[m[0]])):
        changed, count = re.subn(pattern, change, text, count=1)
        if count:
            return changed
    return None


def change_name(text: str, source: str, names: Sequence[str]) -> str | None:
    """Return a text in which a name is another one; None where no name is seen, or there is no other.

    A name is a word of the reference that stands in the source with a capital letter, after its first word.

    Args:
        text: the reference, in small letters.
        source: the sentence that was translated.
        names: of the whole file, from which another one is taken.

    >>> change_name("mr putin left moscow", "Herr Putin hat Moskau verlassen", ["merkel", "putin"])
    'mr merkel left moscow'
    """
    for name in names_in(text, source):
        others = [other for other in names if other != name]
        if others:
            return re.sub(rf"\b{re.escape(name)}\b", others[len(text) % len(others)], text)
    return None


def names_in(text: str, source: str) -> list[str]:
    """Return the names that a reference and its source share, in the order of the source."""
    words = set(re.findall(r"[^\W\d_]{3,}", text))
    capitals = [word.lower() for word in re.findall(r"[^\W\d_]{3,}", source)[1:] if word[0].isupper()]
    return [word for word in dict.fromkeys(capitals) if word in words]


def altered_references(judgements: Judgements) -> dict[str, list[tuple[str, str]]]:
    """Return pairs (reference, reference with another meaning and nearly the same words) by what was changed.

    Args:
        judgements: of one language pair; without sources no name is changed.
    """
    names = [n for s, r in zip(judgements.sources, judgements.references, strict=False) for n in names_in(r, s)]
    distinct = list(dict.fromkeys(names))
    found: dict[str, list[tuple[str, str]]] = {"nothing": [], "negation": [], "number": [], "name": []}
    sources = judgements.sources or [""] * len(judgements)
    for reference, source in dict.fromkeys(zip(judgements.references, sources, strict=True)):
        found["nothing"].append((reference, reference))
        for kind, changed in (
            ("negation", change_negation(reference)), ("number", change_number(reference)),
            ("name", change_name(reference, source, distinct)),
        ):  # fmt: skip
            if changed is not None and changed != reference:
                found[kind].append((reference, changed))
    return found


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

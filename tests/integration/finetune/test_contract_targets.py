"""Grading data sets by name, through a worker process.

`attention-core verify --contract span-corruption file.py:Class`: a right data set and five wrong ones are graded.
"""

from __future__ import annotations

import pytest

from attention_core.conformance.engine.verify import verify_target

DATA_SETS = '''
import numpy as np

class CharCorruptionDataset:
    """The assignment's data set in NumPy."""

    def __init__(self, data, block_size):
        chars = ["□", "⁇", *sorted(set(data))]
        self.stoi = {c: n for n, c in enumerate(chars)}
        self.block_size, self.data = block_size, data.split("\\n")

    def length(self, n):
        return np.random.randint(4, min(n, int(self.block_size * 7 / 8)) + 1)

    def masked(self, n):
        twice = max(n - 4, 0)
        return 1 + np.random.randint(0, twice // 2 + (twice % 2 and np.random.randint(0, 2)) + 1)

    def string(self, document, start, m):
        return document[:start] + "⁇" + document[start + m :] + "⁇" + document[start : start + m]

    def pair(self, s):
        return s[:-1], s[1:]

    def __getitem__(self, idx):
        document = self.data[idx]
        document = document[: self.length(len(document))]
        m = self.masked(len(document))
        s = self.string(document, np.random.randint(0, len(document) - m + 1), m)
        s += "□" * (self.block_size + 1 - len(s))
        return tuple(np.array([self.stoi[c] for c in part]) for part in self.pair(s))

class NoShift(CharCorruptionDataset):
    def pair(self, s):
        return s[:-1], s[:-1]

class Empty(CharCorruptionDataset):
    def masked(self, n):
        return int(np.random.rand() * n / 2)

class Whole(CharCorruptionDataset):
    def length(self, n):
        return min(n, int(self.block_size * 7 / 8))

class Third(CharCorruptionDataset):
    def masked(self, n):
        return max(1, round(np.random.uniform(0, 2 / 3) * n))

class AnswerFirst(CharCorruptionDataset):
    def string(self, document, start, m):
        return document[:start] + "⁇" + document[start : start + m] + "⁇" + document[start + m :]
'''


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("data") / "my.py"
    file.write_text(DATA_SETS, encoding="utf-8")
    return str(file)


FIELDS = {"contract": "span-corruption", "array": "numpy"}


@pytest.mark.thorough
def test_a_right_data_set_conforms(path: str) -> None:
    report = verify_target(f"{path}:CharCorruptionDataset", FIELDS, effort="quick")
    assert report.verdict == "conforms", [(r.law, r.message) for r in report.laws if r.status != "held"]


@pytest.mark.thorough(leave_out=("Third-*",))
@pytest.mark.parametrize(
    ("name", "law"),
    [
        ("NoShift", "targets_are_inputs_one_place_ahead"),
        ("Empty", "the_masked_stretch_is_not_empty"),
        ("Whole", "every_length_is_possible"),
        ("Third", "a_quarter_is_masked"),
        ("AnswerFirst", "documents_come_back"),
    ],
)
def test_wrong_ones_are_refuted_with_a_program(path: str, name: str, law: str) -> None:
    report = verify_target(f"{path}:{name}", FIELDS, effort="quick", laws=[law])
    assert report.verdict == "refuted"
    (found,) = report.counterexamples
    assert found.law == law and f"import {name}" in found.snippet and "__getitem__" in found.snippet

"""experiments/mutation: what its page says of outcomes that are given. The hours of mutants themselves are no test."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[3] / "experiments" / "mutation"


@pytest.fixture(scope="module")
def experiment() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mutation_run", FOLDER / "run.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_reasons_belong_to_modules_that_are_tried(experiment: ModuleType) -> None:
    reasons = json.loads((FOLDER / "survivors.json").read_text())
    for name, reason in reasons.items():
        assert name.rpartition(".")[0] in experiment.SAMPLE and reason
    for name in experiment.SAMPLE:
        assert importlib.util.find_spec(name) is not None


def test_the_page_counts_what_is_noticed_and_lists_what_is_not(experiment: ModuleType) -> None:
    large = experiment.Module("attention_core.oracle.truth", 200, tuple("abcdefghij"), ("b", "c"))
    small = experiment.Module("attention_core.oracle.masks", 4, tuple("wxyz"), ())
    page = experiment.page([large, small], {"b": "the same"}, 7)
    assert "**12 of 14 are noticed; weighted by the sizes of the modules, 80%.** Seed 7." in page
    assert "| `oracle.truth` | 200 | 10 | 8 (80%) | 44% to 97% | 1 | 90% |" in page
    assert "| `oracle.masks` | 4 | 4 | 4 (100%) | all were tried | 0 | 100% |" in page
    assert "* `b`: the same" in page and "* `c`: open" in page

"""The experiments of the table: each record is whole, and each runs with tiny numbers, variants and claims together."""

from __future__ import annotations

from pathlib import Path

import pytest

from finetune.errors import BadInput
from finetune.experiments.conclusions import conclude
from finetune.experiments.report import table, write_report
from finetune.experiments.runs import run_all
from finetune.experiments.table import EXPERIMENTS, load_experiment
from finetune.experiments.texts import NO_TEXT, as_text

TEXT = as_text("the quick brown fox jumps over the lazy dog; " * 300, "fox")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_record_is_whole(name: str) -> None:
    found = load_experiment(name)
    keys = [measure.key for measure in found.measures]
    assert found.baseline in found.variants and len(set(keys)) == len(keys) and found.setting.seeds >= 5
    for claim in found.claims:
        assert claim.measure in keys and claim.variant in found.variants, claim
        assert claim.against is None or claim.against in found.variants, claim


@pytest.mark.thorough(
    leave_out=("late_mask", "depth_and_norms", "synthesizer_limit", "score_functions", "position_encodings")
)
@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_runs_with_tiny_numbers(name: str, tmp_path: Path) -> None:
    found = load_experiment(name)
    tiny = found.setting.with_numbers(seeds=2, steps=2, batch_size=4)
    results = run_all(found, tiny, TEXT if found.uses_text else NO_TEXT, tmp_path)
    for measure in found.measures:
        assert all(measure.key in run for runs in results.values() for run in runs), measure.key
    assert len(conclude(found, results)) == len(found.claims)
    assert table(found, results).count("\n") == len(found.variants) + 1
    written = write_report(found, results, tiny, TEXT if found.uses_text else NO_TEXT, tmp_path / "pages")
    assert all(path.stat().st_size > 500 for path in written)


def test_an_unknown_name_is_said() -> None:
    with pytest.raises(BadInput, match="there is no experiment 'nothing'"):
        load_experiment("nothing")

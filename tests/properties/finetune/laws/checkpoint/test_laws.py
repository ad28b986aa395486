"""Power and false alarms of the laws of checkpoints, for targets in this process.

Laws of checkpoints: each refutes the fault it names, every fault is refuted, no correct one is.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch
from judging import judged, refuted
from judging_contracts import conforming, counterexample, outcomes

from attention_core.conformance import Implementation, check_implementation
from finetune.faults import checkpoints as faults
from finetune.laws.checkpoint import laws as checkpoint
from finetune.laws.checkpoint.interrupted import Place, pickles
from finetune.laws.checkpoint.laws import CONTRACT

IN_ANOTHER_PROCESS = {"a_kill_in_the_midst_keeps_a_whole_one", "a_new_process_goes_on"}


@pytest.mark.parametrize("target", faults.CORRECT)
def test_correct_checkpoints_conform_and_leave_nothing_behind(target: Any) -> None:
    before = left_behind()
    results = conforming(target, CONTRACT)
    assert {law for law, r in results.items() if r.status != "held"} == IN_ANOTHER_PROCESS
    assert left_behind() <= before


def left_behind() -> set[str]:
    """Files of this process's checkpoints: other runs of the tests share the folder."""
    return {p.name for p in Path(tempfile.gettempdir()).glob(f"attention-core-{os.getpid()}-*.epoch-7*")}


@pytest.mark.thorough(table=True)
@pytest.mark.parametrize("fault", faults.FAULTY)
def test_every_fault_is_refuted_by_the_law_that_is_about_it(fault: Any) -> None:
    before = left_behind()
    result = judged(faults.SEEN_BY[fault], fault, contract=CONTRACT)
    assert result.status == "refuted", result.message
    assert left_behind() <= before


@pytest.mark.parametrize(
    "law", [law for law in checkpoint.LAWS if law.family != "process_state"], ids=lambda law: law.name
)
def test_every_law_names_a_fault_that_it_refutes(law: Any) -> None:
    """Those that need a process of the target's own are run in tests/integration/finetune/test_contract_targets.py."""
    seen = faults.IN_ANOTHER_PROCESS if law.name in IN_ANOTHER_PROCESS else faults.SEEN_BY
    assert seen[getattr(faults, law.fault)] == law.name


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (faults.plain_pickle, "a pickle in place of .*: got its code run, but should be refused"),
        (faults.a_key_is_the_message, "got .KeyError: 'model'.*, but should say in one line"),
        (faults.starts_from_nothing, r"load\(\) of no file: got no error, but should raise"),
        (faults.full_disk_unnoticed, r"save\(\) on a full disk: got no error"),
        (
            faults.written_in_place,
            r"after a save\(\) on a full disk: load\(\) raised .* but should give the last whole",
        ),
        (faults.moments_not_saved, r"\d+ steps after load\(\): got \S+ at \[\d+\], but should be .* differ"),
    ],
)
def test_the_message_says_what_was_got_and_what_should_be(fault: Any, words: str) -> None:
    found = refuted(faults.SEEN_BY[fault], fault, "quick", contract=CONTRACT)
    assert re.search(words, found.message), found.message


def test_what_fails_on_its_own_is_told() -> None:
    class Breaks(faults.Run):
        def train(self, steps: int) -> None:
            raise KeyError("no data")

    found = refuted("resuming_gives_the_same_bits", Breaks, "quick", contract=CONTRACT)
    assert re.search(r"train\(\d+\) raised KeyError: 'no data'", found.message)

    class Several(faults.Run):
        def weights(self) -> Any:
            return super().weights()[None]

    found = refuted("resuming_gives_the_same_bits", Several, "quick", contract=CONTRACT)
    assert "but should be all trained numbers in one row" in found.message


@pytest.mark.thorough
def test_counterexamples_are_programs_that_pass_on_a_correct_run() -> None:
    programs = {}
    for fault in (faults.moments_not_saved, faults.saving_draws):
        name = fault.__name__
        program = counterexample(faults.SEEN_BY[fault], f"finetune.faults.checkpoints:{name}", CONTRACT)
        programs[name], programs[f"Run for {name}"] = program, program.replace(name, "Run")
    try:
        found = outcomes(programs)
    finally:
        for path in {m for p in programs.values() for m in re.findall(r"'([^']*epoch-7[^']*)'", p)}:
            Path(path).unlink(missing_ok=True)
    assert {n: told.partition(":")[0] for n, told in found.items() if told} == {
        "moments_not_saved": "AssertionError", "saving_draws": "AssertionError",
    }  # fmt: skip


def test_both_pickles_run_what_is_in_them_where_they_are_read_as_such(tmp_path: Path) -> None:
    """Else a loader that unpickles would pass the law about them."""
    for number, content in enumerate(pickles(str(tmp_path / "mark")).values()):
        file = tmp_path / f"{number}.pt"
        file.write_bytes(content)
        if number:
            torch.load(file, weights_only=False)
        else:
            faults.pickle.loads(content)
        (tmp_path / "mark").rmdir()


def test_a_place_knows_all_that_belongs_to_it() -> None:
    one, other = Place("attention-core-test-1."), Place("attention-core-test-12.")
    try:
        for place in (one, other):
            Path(place.path).mkdir()
            (Path(place.path) / "inside").write_text("x")
            Path(f"{place.path}.part").write_text("y")
        assert [f.name for f in one.files()] == ["inside", f"{one.word}epoch-7.step-1900.part"]
        one.remove()
        assert one.entries() == [] and len(other.entries()) == 2
    finally:
        one.remove()
        other.remove()


class NumpyRun(faults.Run):
    """Its trained numbers come back as an array of NumPy."""

    def weights(self) -> Any:
        return super().weights().numpy()


def test_numbers_of_numpy_are_an_error_with_the_option_that_takes_them() -> None:
    report = check_implementation(Implementation(NumpyRun, "run", CONTRACT), "quick")
    assert report.verdict == "incomplete" and "give --array numpy" in report.problem
    assert not report.with_status("refuted")
    law = "loading_gives_the_saved_weights"
    assert judged(law, NumpyRun, contract=CONTRACT, array="numpy").status == "held"

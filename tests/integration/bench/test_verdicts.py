"""Verdicts of benchmarks.

The suite is asked before a kernel is timed: what it says is handed on with what to do, and known failures are declared.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from attention_core.bench import run as running
from attention_core.bench.cli import status_of, way_out
from attention_core.bench.report.results import Cell, Column, Results
from attention_core.bench.run import check_sources
from attention_core.bench.targets import read_target
from attention_core.bench.verdicts import (
    as_words,
    check_known_failure,
    known_of,
    shadowing_files,
    unused_targets,
    verdict,
)
from attention_core.bench.workloads.workload import Workload
from attention_core.declaration.implementation import TargetError
from attention_core.declaration.known_failures import KnownFailure
from attention_core.terminal import make_console

pytestmark = pytest.mark.usefixtures("unshrunk", "fewest_cases")

KERNELS = """
import torch

def wrapped(query, key, value, is_causal=False, scale=None):
    return torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=is_causal, scale=scale)

def plain(query, key, value):
    return torch.softmax(query @ key.transpose(-1, -2) / max(query.shape[-1], 1) ** 0.5, -1) @ value

@torch.no_grad()
def forward(query, key, value):
    return plain(query, key, value)
"""
BROKEN = ("causal_holds_at_any_scale", "lengths_of_key_and_value_must_agree")
KNOWN = {law: KnownFailure("torch's own") for law in BROKEN}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    found = tmp_path_factory.mktemp("verdicts") / "k.py"
    found.write_text(KERNELS)
    return str(found)


def told(name: str, known: dict[str, KnownFailure] | None = None) -> dict[str, str]:
    return verdict(read_target(name), "quick", 0, 60.0, known)


@pytest.mark.thorough
def test_what_known_kernels_break_too_is_told(path: str) -> None:
    name = f"{path}:wrapped@gradients=false"
    found = told(name)
    assert found["verdict"] == "refuted" and set(BROKEN) <= set(found["reason"].split(", "))
    line = way_out(name, Results({}, {}, {}, {}, {name: found}))
    assert line.startswith(": known kernels break this too: ") and "declare it with --known-failures; " in line


def test_a_kernel_whose_only_failures_are_declared_is_timed(path: str) -> None:
    name = f"{path}:wrapped@gradients=false"
    counts: list[tuple[int, int]] = []
    found = verdict(read_target(name), "quick", 0, 60.0, KNOWN, lambda done, whole: counts.append((done, whole)))
    assert counts == [(number, len(counts)) for number in range(1, len(counts) + 1)] and len(counts) > 50
    assert (found["verdict"], found["known"], found["stale"]) == ("conforms", ", ".join(BROKEN), "")
    assert running.standing(read_target(name), Workload(), found, "cpu").status == "timed"


@pytest.mark.thorough
def test_a_known_failure_that_no_longer_fails_is_no_success(path: str) -> None:
    name = f"{path}:plain@gradients=false"
    found = told(name, {"agrees_with_truth": KnownFailure("issue 12")})
    assert (found["verdict"], found["stale"]) == ("incomplete", "agrees_with_truth")
    assert "agrees_with_truth: a known failure no longer fails; take it off the list" in found["reason"]
    cells = [Cell(Workload(), name, {name: Column("timed", seconds=1.0)})]
    assert status_of(Results({}, {}, {}, {}, {name: found}, cells), None, make_console()) == 2
    assert status_of(Results({}, {}, {}, {}, {name: {**found, "stale": ""}}, cells), None, make_console()) == 0


def test_a_kernel_without_gradients_is_told_how_to_declare_it(path: str) -> None:
    name = f"{path}:forward"
    found = told(name)
    assert found["verdict"] == "refuted"
    # One law says so, and no name of a law about something else: the first look knows that nothing carries a gradient.
    assert found["reason"] == "the output carries no gradient (1 law)"
    assert found["hint"] == f"it gives no gradients; if that is meant, name it {name}@gradients=false"
    assert told(f"{name}@gradients=false")["verdict"] == "conforms"


def test_files_named_like_pythons_own_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that judges looks into the user's folder first: nothing else would say why nothing can be imported.

    A module that no Python imports by itself: from 3.13 on, `pathlib` imports `glob`, which a file hides no longer.
    """
    (tmp_path / "k.py").write_text("import sched\n" + KERNELS)
    (tmp_path / "sched.py").write_text("raise ImportError('no such thing')")
    found = told(f"{tmp_path}/k.py:plain")
    assert found["verdict"] == "error"
    assert "no such thing; files here hide Python's own modules (rename them): sched.py" in found["reason"]
    assert shadowing_files(tmp_path, tmp_path) == ["sched.py"]


def test_what_is_listed_of_a_target_holds_under_every_convention() -> None:
    listed = {"f.py:f": {"a": KnownFailure("1")}, "f.py:f@dead_rows=nan": {"b": KnownFailure("2")}, "auto": {}, "g": {}}
    assert set(known_of("f.py:f", listed)) == set(known_of("f.py:f@layout=bnhd", listed)) == {"a"}
    assert set(known_of("f.py:f@dead_rows=nan", listed)) == {"a", "b"}
    assert unused_targets(["auto", "f.py:f@dead_rows=nan"], listed) == ["g"]
    assert unused_targets(["f.py:f"], listed) == ["f.py:f@dead_rows=nan", "auto", "g"]


def test_a_law_that_is_none_is_refused_at_the_door() -> None:
    check_known_failure(read_target("torch:default"), KNOWN)
    with pytest.raises(TargetError, match="known failures name 'spelled_wrong' of torch:default, which is not a law"):
        check_known_failure(read_target("torch:default"), {"spelled_wrong": KnownFailure("")})


def test_other_known_failures_are_not_gone_on_with() -> None:
    named = {"torch:math": read_target("torch:math")}
    for before, now, same in (({}, {}, True), (KNOWN, KNOWN, True), ({}, KNOWN, False), (KNOWN, {}, False)):
        verdicts = {"torch:math": {"verdict": "conforms", "reason": "", "known": as_words(before)}}
        previous, listed = Results({}, {}, {}, {}, verdicts), {"torch:math": now}
        if same:
            check_sources(previous, named, listed)
        else:
            with pytest.raises(TargetError, match="cannot resume: torch:math was judged by other known failures"):
                check_sources(previous, named, listed)
    del verdicts["torch:math"]["known"]  # a file of results from before there were any
    check_sources(previous, named, {})


def test_another_saved_case_is_another_known_failure() -> None:
    first, second = (as_words({"law": KnownFailure("", {"case": k})}) for k in (1, 2))
    assert first != second and first.startswith("law (") and as_words({"law": KnownFailure("why")}) == "law"

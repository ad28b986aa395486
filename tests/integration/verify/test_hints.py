"""Hints.

What people get wrong in their first hour: each mistake is told in one line that says what to write instead.
Targets are found by their names, as on the command line, and run in this process; few laws are asked.
"""

from __future__ import annotations

import importlib.util
import tomllib
from pathlib import Path
from typing import Any

import pytest
import torch

from attention_core.conformance import check_implementation
from attention_core.conformance.engine.verify import exit_status, failed_report, verify_target
from attention_core.conformance.report.results import Report
from attention_core.declaration.implementation import Implementation, TargetError
from attention_core.worker.target import load_target

TARGETS = """
import torch

def right(query, key, value):
    return torch.softmax(query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5, -1) @ value

def both(query, key, value):
    weights = torch.softmax(query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5, -1)
    return weights @ value, weights

def three(query, key, value):
    return (*both(query, key, value), value)

class Layer(torch.nn.Module):
    def forward(self, query, key, value):
        return right(query, key, value)

class Sized(torch.nn.Module):
    def __init__(self, size):
        super().__init__()

class Heads(torch.nn.Module):
    def __init__(self, dim, num_heads):
        super().__init__()
    def forward(self, hidden_states, attention_mask=None):
        return hidden_states

class Kept:
    def __call__(self, query, key, value):
        return value
    def reset(self):
        pass

def split(x, H):
    return x.unflatten(-1, (H, -1)).transpose(1, 2)

def frozen(query, key, value):
    return right(query, key, value).detach()

def rotate(x, positions): return x
"""
NUMPY = """
import numpy as np

def attention(query, key, value):
    s = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    p = np.exp(s - s.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True) @ value

def broken(query, key, value):
    return value[np.array(["a"])]
"""
LAW = "agrees_with_truth"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("hints")
    (found / "t.py").write_text(TARGETS)
    (found / "n.py").write_text(NUMPY)
    return found


@pytest.fixture(autouse=True)
def stand_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def verified(target: str, *laws: str, **fields: Any) -> Report:
    """As `verify_target`, in this process, which is quicker."""
    try:
        record = Implementation(load_target(target), target, **{"dtypes": ("float32",), **fields})
        return check_implementation(record, "quick", laws=laws)
    except TargetError as error:
        return failed_report(target, error)


BUILD = "give --factory if calling it without arguments builds the attention, or name an instance or a function"
MISTAKES: list[tuple[str, dict[str, Any], str]] = [
    ("t.py:Layer", {}, "called with query, key and value: declare --factory, under which it is judged below"),
    ("t.py:Layer", {"contract": "rotary"}, f"t.py:Layer is a class: {BUILD}"),
    ("t.py:Heads", {}, "a class of modules with many heads: declare --contract multi-head, under which it is judged below"),
    ("t.py:Kept", {}, "a class of caches of keys and values: declare --contract kv-cache, under which it is judged below"),
    ("t.py:Kept", {"contract": "rotary"}, "; a cache of keys and values is judged with --contract kv-cache"),
    ("t.py:Layer.forward", {}, "t.py:Layer.forward is a method of a class, not of an object: name an instance's"),
    ("t.py:Sized", {"factory": True}, "--factory calls the target without arguments, which raised TypeError: "),
    ("t.py:TARGET", {}, "t.py has no attribute 'TARGET'; it has: right, both, three, Layer"),
    ("t.py:split", {"contract": "heads"}, "t.py:split has no split and no merge: name a pair, path/to/file.py:split,merge"),
    ("t.py:right", {"device": "cuda:99"}, "--device cuda:99 cannot be used here: "),
    ("t.py:right", {"device": "gpu"}, "--device gpu cannot be used here: "),
]  # fmt: skip
if importlib.util.find_spec("jax") is None:
    MISTAKES.append(("n.py:attention", {"array": "jax"}, "python -m pip install 'attention-core[jax]'"))


@pytest.mark.parametrize(("target", "fields", "words"), MISTAKES)
def test_a_mistake_is_told_in_one_line(target: str, fields: dict[str, Any], words: str) -> None:
    report = verified(target, **fields)
    assert report.verdict == "error"
    assert words in report.problem
    assert len(report.problem.splitlines()) == 1


def test_a_factory_is_called() -> None:
    assert verified("t.py:Layer", LAW, factory=True).passed


def test_a_mistake_found_in_the_worker_is_told_as_well() -> None:
    report = verify_target("t.py:Sized", {"factory": True}, effort="quick")
    assert report.problem.startswith("--factory calls the target without arguments, which raised TypeError: ")
    assert "Traceback" in report.traceback


def test_arrays_of_another_library_are_told_and_nothing_is_judged() -> None:
    wants = "the plain call fails with arrays of torch and works with those of numpy: give --array numpy"
    report = verified("n.py:attention")
    assert (report.verdict, exit_status([report])) == ("incomplete", 2)
    assert report.problem == f"{wants} (in Python array='numpy')"
    assert report.counterexamples == []
    assert all(line.endswith("consistent with --array numpy --dtype float64") for line in report.advice)
    assert {r.status for r in report.laws} == {"not_applicable"}
    assert verified("n.py:attention", LAW, array="numpy").advice == []
    assert verified("t.py:right", LAW, array="numpy").problem == (
        "the plain call fails with arrays of numpy and works with those of torch: "
        "give --array torch (in Python array='torch')"
    )


@pytest.mark.thorough
def test_a_fault_beside_the_arrays_of_another_library_is_advised_on() -> None:
    report = verified("n.py:broken")
    assert report.problem.startswith("it declined a plain call")  # with NumPy's arrays, too
    assert report.advice[0] == (
        "it was called with arrays of torch, but its file imports numpy and not torch: "
        "give --array numpy (in Python array='numpy')"
    )


RETURNS = [
    (
        "t.py:both",
        "out",
        "the call returns 2 values, but is declared to return 'out': declare --returns out,weights or",
    ),
    ("t.py:right", "out,lse", "the call returns 1 value, but is declared to return 'out,lse': declare --returns out "),
    ("t.py:three", "out", "the call returns 3 values, but is declared to return 'out': let it return the output alone"),
]


@pytest.mark.parametrize(("target", "returns", "words"), RETURNS)
def test_another_number_of_results_is_told_first(target: str, returns: str, words: str) -> None:
    laws = ("evaluation_has_no_dropout", LAW, "weights_are_a_distribution")
    report = verified(target, *laws, returns=returns)
    assert report.verdict == "error"
    assert not report.counterexamples
    assert words in report.reason()
    assert [r.message.partition(":")[0] for r in report.laws] == ["not run"] * 3
    if target == "t.py:both":
        assert report.advice == ["not judged as returns=out; consistent with --returns out,weights"]


def test_a_result_without_a_graph_is_told_by_both_doors() -> None:
    (found,) = verified("t.py:frozen", "query_gradient_is_true").counterexamples
    assert "declare --no-gradients, in Python gradients=False" in found.message


def test_flaws_of_known_kernels_are_pointed_out() -> None:
    def wrapped(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, is_causal: bool = False) -> torch.Tensor:
        return torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=is_causal)

    law = "lengths_of_key_and_value_must_agree"
    report = check_implementation(Implementation(wrapped, "f", dtypes=("float32",)), "quick", laws=(law,))
    (line,) = report.advice
    assert line.startswith(f"known kernels break this too: {law} (torch:")
    assert "docs/findings.md" in line and "--known-failures" in line
    ((known,),) = tomllib.loads(line.partition("the file is a line: ")[2]).values()
    assert (known["target"], known["law"]) == ("f", law) and known["reason"].startswith("torch:")


def test_flaws_of_kernels_that_are_not_called_are_left_out() -> None:
    def own(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        return torch.softmax(query @ key.mT * query.shape[-1] ** -0.5, -1)[..., : value.shape[-2]] @ value

    law = "lengths_of_key_and_value_must_agree"
    report = check_implementation(Implementation(own, "f", dtypes=("float32",)), "quick", laws=(law,))
    assert report.verdict == "refuted" and report.advice == []


def test_a_mask_that_enlarges_the_result_says_how_to_mend_it() -> None:
    def added(
        query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None = None
    ) -> torch.Tensor:
        s = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5
        if mask is not None:
            s = s.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else s + mask
        return torch.softmax(s, -1) @ value

    record, law = Implementation(added, "f", dtypes=("float32",)), "mask_must_not_enlarge_the_result"
    (unasked,) = check_implementation(record, "quick", laws=(law,)).laws
    assert (unasked.status, unasked.message.partition(" is ")[0]) == ("not_applicable", "validates")
    (found,) = check_implementation(record.with_(validates=True), "quick", laws=(law,)).counterexamples
    mend = "if torch.broadcast_shapes(mask.shape, scores.shape) != scores.shape: raise ValueError"
    assert found.message.endswith(mend)


def test_snippets_for_numpy_do_without_torch(tmp_path: Path) -> None:
    (tmp_path / "n.py").write_text(NUMPY.replace("@ value", "@ value * 1.5"))
    laws = (LAW, "evaluation_has_no_dropout", "training_leaves_evaluation_alone")
    report = verified(f"{tmp_path}/n.py:attention", *laws, array="numpy")
    assert report.counterexamples
    for found in report.counterexamples:
        assert "torch" not in found.snippet

"""Snippets of counterexamples are programs: they fail on the faulty file and pass once the file is mended.

Each fault is one replacement in a small correct implementation. The snippets run without this package, in a fresh
process, first beside the faulty files, then beside the correct one under the same names.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attention_core.conformance import Implementation
from attention_core.conformance.engine.session import Session, select_laws
from attention_core.conformance.report.law_result import Counterexample
from attention_core.conformance.search.search import run_law
from attention_core.conformance.snippets.array_text import array_text, assignment
from attention_core.conformance.worker.exchange import array

CORRECT = """
import torch

def attention(query, key, value, attn_mask=None, is_causal=False, scale=None):
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2] or query.shape[-3] != key.shape[-3]:
        raise ValueError("sizes differ")
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    s = scale * query.double() @ key.double().transpose(-1, -2)
    if attn_mask is not None:
        s = s.masked_fill(~attn_mask, -torch.inf) if attn_mask.dtype == torch.bool else s + attn_mask
    if is_causal:
        s = s.masked_fill(torch.ones(s.shape[-2:]).triu(1).bool(), -torch.inf)
    dead = (s == -torch.inf).all(-1, keepdim=True)
    p = s.masked_fill(dead, 0.0).softmax(-1).masked_fill(dead, 0.0)
    return (p @ value.double()).to(query.dtype)
"""

# kind of evidence: (law, text of the correct file, what stands there instead)
FAULTS = {
    "value": ("agrees_with_truth", "query.shape[-1] ** -0.5", "1.0"),
    "gradient": ("key_gradient_is_true", "key.double()", "key.detach().double()"),
    "gradient_clipped": (
        "gradient_is_linear_in_the_cotangent",
        "    return",
        "    value = value.clone()\n"
        "    if value.requires_grad: value.register_hook(lambda g: g.clamp(-0.01, 0.01))\n    return",
    ),
    "cotangent_written_into": (
        "inputs_stay_as_they_were",
        "    return (p @ value.double()).to(query.dtype)",
        "    out = (p @ value.double()).to(query.dtype)\n"
        "    if out.requires_grad: out.register_hook(lambda g: g.mul_(2))\n    return out",
    ),
    "view": (
        "transposed_views_change_nothing",
        "    scale =",
        "    key = torch.as_strided(key, key.shape, torch.empty(key.shape).stride())\n    scale =",
    ),
    "moved": (
        "permuting_queries_permutes_the_output",
        "(p @ value",
        "(torch.arange(1.0, p.shape[-2] + 1).double()[:, None] * p @ value",
    ),
    "nonfinite": (
        "stays_finite",
        "p = s.masked_fill(dead, 0.0).softmax(-1)",
        "e = s.masked_fill(dead, 0.0).float().exp().double(); p = (e / e.sum(-1, keepdim=True))",
    ),
    "must_raise": (
        "lengths_of_key_and_value_must_agree",
        "or key.shape[-2] != value.shape[-2] or query.shape[-3] != key.shape[-3]:",
        "or query.shape[-3] != key.shape[-3]:\n        raise ValueError('sizes differ')\n"
        "    value = torch.cat([value, torch.zeros_like(key[..., :1].expand(*key.shape[:-1], value.shape[-1]))], -2)"
        "[..., : key.shape[-2], :]\n    if False:",
    ),
    "index_error": ("head_sizes_of_query_and_key_must_agree", 'raise ValueError("sizes differ")', "[][0]"),
    "crash": ("no_queries_give_an_empty_output", "    scale =", "    query[0, 0, 0]\n    scale ="),
    "shape": (
        "head_sizes_may_be_odd_and_differ",
        "(p @ value.double())",
        "(p @ value.double()[..., : query.shape[-1]])",
    ),
    "mutated": ("inputs_stay_as_they_were", "    scale =", "    query.data.mul_(2).sub_(1)\n    scale ="),
    "shares": (
        "results_share_no_memory_with_inputs",
        "    scale =",
        "    if query.shape[-2] == key.shape[-2] == 1 and query.shape[:-2] == value.shape[:-2]:\n"
        "        return value\n    scale =",
    ),
    "no_grad": ("no_row_sees_a_later_one", "if is_causal:", "if is_causal and torch.is_grad_enabled():"),
    "no_grad_beside": (
        "output_is_the_same_with_gradients",
        "if is_causal:",
        "if is_causal and torch.is_grad_enabled():",
    ),
    "no_grad_raises": (
        "no_queries_give_an_empty_output",
        "    scale =",
        "    query[0, 0, 0] if not torch.is_grad_enabled() else 0\n    scale =",
    ),
}
OFF = "with torch.no_grad(): "
KINDS = {
    "value": "abs(got - want)", "gradient": "0.0 if k.grad is None else k.grad[", "gradient_clipped": "* want", "view": "as_strided",
    "moved": "other = attention", "nonfinite": "float('inf')", "must_raise": "except", "index_error": "except",
    "shares": ".detach()[0", "crash": "a valid call raised", "shape": ".shape", "mutated": "before", "cotangent_written_into": "down]", "no_grad": f"{OFF}other = attention",
    "no_grad_beside": f"\n{OFF}other = attention", "no_grad_raises": OFF,
}  # fmt: skip
DRIVER = """
import json, runpy, sys
ended = {}
for name in sys.argv[1:]:
    try:
        runpy.run_path(name + ".py")
        ended[name] = ""
    except BaseException as error:
        ended[name] = type(error).__name__ + ": " + str(error)
print(json.dumps(ended), file=sys.stderr)
"""


def counterexample(folder: Path, fault: str) -> Counterexample:
    """The suite's answer to one fault, whose file stands in `folder`."""
    law, old, new = FAULTS[fault]
    assert CORRECT.count(old) == 1, fault
    path = folder / f"attention_{fault}.py"
    path.write_text(CORRECT.replace(old, new))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with Session(Implementation(module.attention, name=fault, dtypes=("float32",)), effort="standard") as session:
        session.subject.origin = f"{path}:attention"
        (chosen,) = select_laws(session.laws, [law])
        found = run_law(chosen, session.contract, session.subject, "standard").counterexample
    assert found is not None, f"{fault} is not refuted by {law}"
    return found


@pytest.fixture(scope="module")
def snippets(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A folder with the faulty files and their snippets, and the snippets by fault."""
    folder = tmp_path_factory.mktemp("snippets")
    found = {fault: counterexample(folder, fault).snippet for fault in FAULTS}
    for fault, text in found.items():
        (folder / f"snippet_{fault}.py").write_text(text)
    return folder, found


def run_all(folder: Path) -> dict[str, str]:
    """How each snippet ends in a fresh process: "" or its exception."""
    names = [f"snippet_{fault}" for fault in FAULTS]
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, *names], cwd=folder, capture_output=True, text=True, timeout=300, check=True
    )
    ended: dict[str, str] = json.loads(done.stderr.splitlines()[-1])
    return ended


def test_snippets_fail_on_the_fault_and_pass_when_it_is_mended(snippets: tuple[Path, dict[str, str]]) -> None:
    folder, _ = snippets
    for name, ended in run_all(folder).items():
        assert ended, f"{name} passes on the faulty file"
        assert not ended.startswith(("SyntaxError", "NameError", "ImportError", "ModuleNotFoundError", "TypeError")), (
            ended
        )
    for fault in FAULTS:
        (folder / f"attention_{fault}.py").write_text(CORRECT)
    assert run_all(folder) == {f"snippet_{fault}": "" for fault in FAULTS}


@pytest.mark.parametrize("fault", FAULTS)
def test_snippets_are_short_and_show_their_kind(snippets: tuple[Path, dict[str, str]], fault: str) -> None:
    text = snippets[1][fault]
    assert KINDS[fault] in text
    assert (OFF in text) == ("no_grad" in fault)
    assert len(text.splitlines()) < 25
    assert "attention_core" not in text


VIEWS = ["contiguous", "transposed", "heads_last", "sliced", "padded", "offset", "expanded"]


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "bool"])
@pytest.mark.parametrize("sizes", [(2, 3, 4, 5), (2, 2, 16, 16), (1, 2, 0, 3)], ids=str)
def test_written_arrays_are_those_that_were_sent(view: str, dtype: str, sizes: tuple[int, ...]) -> None:
    """Small and large (packed) arrays, of every dtype, come back bit for bit from their text, strides included."""
    values: Any = np.random.default_rng(0).integers(-4, 5, size=sizes)
    values = values > 0 if dtype == "bool" else values / 4
    values = np.broadcast_to(values[:1], sizes) if view == "expanded" else values
    spec = array(values, dtype, view)
    space: dict[str, Any] = {}
    exec(f"import base64, zlib, torch\nfrom math import inf, nan\nx = {array_text(spec)}", space)
    x = space["x"]
    assert (x.dtype, tuple(x.shape)) == (getattr(torch, dtype), spec.shape)
    assert x.numel() == 0 or (x.stride(), x.storage_offset()) == (spec.strides, spec.offset)
    assert torch.equal(x, torch.tensor(values.tolist(), dtype=x.dtype).reshape(sizes))


@pytest.mark.parametrize("library", ["torch", "numpy"])
@pytest.mark.parametrize("rest", [0.0, -np.inf, np.nan, 1.5])
def test_an_array_with_few_other_numbers_is_filled_and_set(rest: float, library: str) -> None:
    values = np.full((2, 1, 12, 1), rest)
    values[1, 0, 3, 0], values[0, 0, 11, 0] = 2.0, -1.0
    spec = array(values, "float32")
    line = assignment("x", spec, library)
    assert line.count(";") == 2 and len(line) < 110
    space: dict[str, Any] = {}
    exec(f"import torch, numpy as np\nfrom math import inf, nan\n{line}", space)
    assert np.array_equal(np.asarray(space["x"]), values, equal_nan=True) and space["x"].shape == values.shape


def test_what_is_set_afterwards_carries_a_gradient_and_what_is_not_nearly_constant_is_written_out() -> None:
    values = np.zeros((1, 1, 20, 1))
    values[0, 0, 7, 0] = 1.0
    space: dict[str, Any] = {}
    exec(f"import torch\n{assignment('x', array(values, 'float32'), gradient=True)}", space)
    assert space["x"].requires_grad and space["x"].is_leaf
    values[0, 0, :4, 0] = 3.0
    assert ";" not in assignment("x", array(values, "float32"))
    assert ";" not in assignment("x", array(np.eye(4)[None, None, :, :3], "float32"))  # twelve numbers: short as it is


def test_large_and_special_numbers_survive_as_text() -> None:
    numbers = [np.nan, np.inf, -np.inf, 0.1, 2.0**-149, 3e38, -0.0]
    spec = array(np.array(numbers), "float32")
    x = eval(array_text(spec), {"torch": torch, "nan": np.nan, "inf": np.inf})
    assert x.numpy().tobytes() == spec.base.tobytes()

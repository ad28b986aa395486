"""Sessions.

Sessions on targets in a worker: what a session decides before any law runs. The laws themselves are left out here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attention_core.conformance.engine.second_judgement import adopt_conventions
from attention_core.conformance.engine.session import Session
from attention_core.conformance.engine.verify import open_session
from attention_core.conformance.first_look.findings import FirstLook
from attention_core.conformance.worker.exchange import Request, array
from attention_core.declaration.implementation import Implementation
from attention_core.faults.state import first_call_loses_its_last_key

JAX = """
import jax

def attention(query, key, value):
    scores = query @ jax.numpy.swapaxes(key, -1, -2) * query.shape[-1] ** -0.5
    return jax.nn.softmax(scores, -1) @ value

def wide(query, key, value):
    if not jax.config.jax_enable_x64:
        raise KeyError("32 bits")
    return attention(query, key, value)
"""
OWN_CHOICE = "import jax\njax.config.update('jax_enable_x64', True)\n" + JAX
POOL = [
    "sizes are drawn from a pool of 14 shapes, as JAX compiles a program for each (--shapes free: from all)",
    "calls are compiled by jax.jit, not optimised, but those of laws about what calls leave behind",
]
LEFT_OUT = "float64 is left out, as JAX has it in 64 bits only: set JAX_ENABLE_X64=1, or declare --dtype float64"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pytest.importorskip("jax", reason="JAX is not installed")
    (tmp_path / "t.py").write_text(JAX)
    (tmp_path / "own.py").write_text(OWN_CHOICE)
    return tmp_path


def opened(target: str, **fields: Any) -> Any:
    return open_session(target, {"array": "jax", **fields}, effort="quick", seed=0, timeout=60.0)


def dtype_of(session: Any, dtype: str) -> str:
    one = array(np.ones((1, 1, 2, 2)), dtype)
    (value,) = session.runner.run(Request((one, one, one))).outputs
    return str(value.dtype)


def test_jax_is_not_switched_to_64_bits_behind_the_targets_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAX_ENABLE_X64", raising=False)
    with opened(f"{folder}/t.py:wide") as session:
        assert session.implementation.dtypes == ("float32", "bfloat16", "float16")
        assert session.notes == [LEFT_OUT, *POOL]
        one = array(np.ones((1, 1, 2, 2)), "float32")
        assert session.runner.run(Request((one, one, one))).failure.message == "'32 bits'"
        assert session.report([]).to_dict()["notes"] == [LEFT_OUT, *POOL]


def test_float64_is_judged_where_it_is_declared_and_this_is_said(folder: Path) -> None:
    with opened(f"{folder}/t.py:attention", dtypes=("float64",)) as session:
        assert session.notes == ["JAX runs in 64 bits (jax_enable_x64), as float64 is declared", *POOL]
        assert dtype_of(session, "float64") == "float64"


@pytest.mark.parametrize("own", [True, False])
def test_float64_is_judged_where_the_target_or_the_environment_chooses_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, own: bool
) -> None:
    monkeypatch.setenv("JAX_ENABLE_X64", "0" if own else "1")
    with opened(f"{folder}/{'own' if own else 't'}.py:attention") as session:
        assert session.notes == POOL
        assert "float64" in session.implementation.dtypes
        assert dtype_of(session, "float64") == "float64"


def test_the_pool_is_taken_where_a_compiler_is_known_and_can_be_chosen(folder: Path) -> None:
    with opened(f"{folder}/t.py:attention", shapes="free") as session:
        assert session.subject.implementation.shapes == "free"
        assert POOL[0] not in session.notes

    def scaled(query: Any, key: Any, value: Any) -> Any:
        return torch.nn.functional.scaled_dot_product_attention(query, key, value)

    for shapes in ("free", "pool"):
        with Session(Implementation(scaled, name="f"), effort="quick") as session:
            assert session.subject.implementation.shapes == shapes
        scaled._torchdynamo_orig_callable = scaled  # type: ignore[attr-defined]  # what torch.compile leaves on its result
    assert "as torch.compile compiles a program for each" in session.notes[0]
    assert session.implementation.shapes == "auto"  # what is not declared is in no command that the report gives


def test_the_pool_follows_the_arrays_that_the_first_look_found(folder: Path) -> None:
    look = FirstLook((), {"array": "jax"}, agrees=True)
    with opened(f"{folder}/t.py:attention", array="torch") as session:
        other = adopt_conventions(session, look)
        assert other is not None
        with other:
            assert (session.shapes, other.shapes) == ("free", "pool")


SCALED = """
def attention(query, key, value):
    return (query @ key.mT).softmax(-1) @ value
"""


def test_a_case_that_another_process_found_is_made_small_here(tmp_path: Path) -> None:
    path = tmp_path / "scaled.py"
    path.write_text(SCALED)
    options: dict[str, Any] = {"effort": "quick", "seed": 0, "timeout": 60.0}
    with open_session(f"{path}:attention", {}, **options) as other:
        (law,) = (law for law in other.laws if law.name == "agrees_with_truth")
        found = other.run(law, lightly=True)
    assert found.counterexample is not None and not found.counterexample.shrunk
    with open_session(f"{path}:attention", {}, **options) as session:
        session.shrink_counterexamples([found])
    assert found.counterexample.shrunk


def test_a_first_look_hides_no_fault_of_the_first_call() -> None:
    implementation = Implementation(first_call_loses_its_last_key(), name="first call")
    with Session(implementation, effort="quick") as session:
        (central,) = (law for law in session.laws if law.central)
        assert session.first_look is not None and session.first_look.calls > 20
        result = session.run(central)
    assert result.status == "refuted" and result.counterexample is not None
    assert "B=1 H=1 n_q=2 n_kv=3 d=2" in result.counterexample.case


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_the_first_call_of_every_dtype_is_judged(dtype: str) -> None:
    done: set[torch.dtype] = set()

    def attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        out = (query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5).softmax(-1) @ value
        if query.dtype == getattr(torch, dtype) and query.dtype not in done:
            out = out + 1.0
        done.add(query.dtype)
        return out

    with Session(Implementation(attention, name="first"), effort="quick") as session:
        (central,) = (law for law in session.laws if law.central)
        assert session.first_look is not None
        assert session.run(central).status == "refuted"

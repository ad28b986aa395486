"""attention_core.conformance.engine.precision: which dtypes are left, and that a report says so."""

from __future__ import annotations

import pytest

from attention_core.conformance.engine.precision import fit_precision
from attention_core.declaration.implementation import Implementation, TargetError

RECORD = Implementation(len, name="f", dtypes=("float32", "bfloat16"))


def test_everything_declared_is_kept_where_nothing_is_lacking() -> None:
    assert fit_precision(RECORD, {"dtypes": None, "x64": True}) == (RECORD, [])


def test_a_dtype_that_is_left_out_is_named_with_its_reason() -> None:
    record, found = fit_precision(RECORD, {"left_out": {"bfloat16": "no unit for it", "float16": "not declared"}})
    assert (record.dtypes, found) == (("float32",), ["bfloat16 is left out: no unit for it"])


def test_a_target_of_no_dtype_that_is_left_is_refused() -> None:
    with pytest.raises(TargetError, match="none of them here, and bfloat16 is declared"):
        fit_precision(RECORD.with_(dtypes=("bfloat16",)), {"left_out": {"bfloat16": "no unit for it"}})
    with pytest.raises(TargetError, match="f takes float16, and float32, bfloat16 is declared"):
        fit_precision(RECORD, {"dtypes": ["float16"]})


def test_what_a_target_is_described_to_take_is_kept() -> None:
    record, found = fit_precision(RECORD, {"dtypes": ["float32"]})
    assert (record.dtypes, found) == (("float32",), ["it is judged in float32, which it is described to take"])


def test_float64_needs_jax_in_64_bits() -> None:
    record = Implementation(len, name="f", array="jax")
    assert "float64" in record.dtypes
    assert "float64" not in fit_precision(record, {"x64": False})[0].dtypes
    assert fit_precision(record, {"x64": True})[0].dtypes == record.dtypes
    asked = record.with_(dtypes=("float32", "float64"))
    assert fit_precision(asked, {"x64": True})[1] == ["JAX runs in 64 bits (jax_enable_x64), as float64 is declared"]

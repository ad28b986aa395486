"""Responses, sorted.

Which exceptions decline a case, which refute, and which only say that something is missing on this machine.
The classes are made here as the libraries make them; their real modules are named in the table.
"""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attention_core.conformance import Implementation, check_implementation
from attention_core.conformance.subjects.evidence import Refused, Violation
from attention_core.conformance.subjects.outcomes import SetUpError, check_response, declines, what_is_missing
from attention_core.conformance.worker.exchange import Request, Response
from attention_core.conformance.worker.executor import describe_failure
from attention_core.conformance.worker.interpreted import LacksOperation, UnfitBlock

pytestmark = pytest.mark.usefixtures("fewest_cases")


def made(name: str, module: str, base: type = Exception) -> type[Exception]:
    """An exception class as another library defines it."""
    found: type[Exception] = type(name, (base,), {"__module__": module})
    return found


ONNX = "onnxruntime.capi.onnxruntime_pybind11_state"
TF = "tensorflow.python.framework.errors_impl"
OP_ERROR = made("OpError", TF)
TRITON = made("TritonError", "triton.errors")
DECLINE: dict[str, BaseException] = {
    "onnxruntime InvalidArgument": made("InvalidArgument", ONNX)("[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : rank"),
    "onnxruntime Fail": made("Fail", ONNX)("[ONNXRuntimeError] : 1 : FAIL : MatMul dimension mismatch"),
    "onnxruntime NotImplemented": made("NotImplemented", ONNX)("[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED"),
    "tensorflow": made("InvalidArgumentError", TF, OP_ERROR)("Incompatible shapes"),
    "triton": made("CompilationError", "triton.compiler.errors", TRITON)("arange's range must be a power of 2"),
    "beartype": made("BeartypeCallHintParamViolation", "beartype.roar._roarexc")("parameter violates type hint"),
    "jaxtyping": made("TypeCheckError", "jaxtyping", TypeError)("type-check error"),
    "einops": made("EinopsError", "einops", RuntimeError)("Error while processing rearrange-reduction pattern"),
    "pydantic": made("ValidationError", "pydantic_core._pydantic_core", ValueError)("1 validation error"),
    "jax": made("JaxRuntimeError", "jax.errors", RuntimeError)("INVALID_ARGUMENT: shapes differ"),
    "numpy": np.linalg.LinAlgError("Singular matrix"),
    "its own": made("Unsupported", "_target_mine")("only even head sizes"),
    "ValueError": ValueError("no"),
    "RuntimeError": RuntimeError("expected 4 dimensions"),
}
REFUTE: dict[str, BaseException] = {
    "IndexError": IndexError("out of range"),
    "KeyError": KeyError("k"),
    "ZeroDivisionError": ZeroDivisionError(),
    "AttributeError": AttributeError("no attribute"),
    "its own KeyError": made("NoSuchKey", "_target_mine", KeyError)("k"),
    "of the standard library": json.decoder.JSONDecodeError.__base__ and __import__("struct").error("unpack"),
    "Exception itself": Exception("something"),
    "BaseException": type("Stop", (BaseException,), {"__module__": "_target_mine"})(),
    "onnxruntime EngineError": made("EngineError", ONNX)("[ONNXRuntimeError] : 6 : ENGINE_ERROR"),
    "tensorflow InternalError": made("InternalError", TF, OP_ERROR)("Blas GEMM launch failed"),
    "tensorflow memory": made("ResourceExhaustedError", TF, OP_ERROR)("OOM when allocating tensor"),
    "jax internal": made("JaxRuntimeError", "jax.errors", RuntimeError)("INTERNAL: during codegen"),
    "jax memory": made("JaxRuntimeError", "jax.errors", RuntimeError)("RESOURCE_EXHAUSTED: Out of memory"),
    "torch internal": RuntimeError("x INTERNAL ASSERT FAILED at y"),
    "a device": RuntimeError("CUDA error: an illegal memory access was encountered"),
    "RecursionError": RecursionError("deep"),
}
MISSING: dict[str, tuple[BaseException, str]] = {
    "a module": (ModuleNotFoundError("No module named 'flash_attn'"), "'flash_attn' (it runs on GPUs alone: install"),
    "a part of one": (ImportError("cannot import name 'x' from 'y' (y.py)"), "cannot import name 'x'"),
    "CUDA": (
        AssertionError("Torch not compiled with CUDA enabled"),
        "not compiled with CUDA enabled; it asks for a GPU, and there",
    ),
    "a driver": (RuntimeError("Found no NVIDIA driver on your system."), "no NVIDIA driver"),
    "triton's driver": (RuntimeError("0 active drivers ([]). There should only be one."), "0 active drivers"),
    "a shared library": (OSError("libcuda.so.1: cannot open shared object file"), "libcuda.so.1"),
    "a backend of JAX": (RuntimeError("Unable to initialize backend 'cuda': ..."), "Unable to initialize backend"),
    "an operator": (
        AttributeError("'_OpNamespace' '_vllm_fa2_C' object has no attribute 'varlen_fwd'"),
        "the operator _vllm_fa2_C.varlen_fwd is not loaded: import the package that brings it",
    ),
    "another GPU": (RuntimeError("CUDA error: no kernel image is available for execution"), "TORCH_CUDA_ARCH_LIST"),
    "a compiler": (RuntimeError("Failed to find C compiler. Please specify via CC"), "Failed to find C compiler"),
}


def answer(error: BaseException) -> Response:
    return Response("raised", failure=describe_failure(error))


@pytest.mark.parametrize("name", DECLINE)
def test_a_librarys_own_argument_errors_decline(name: str) -> None:
    response = answer(DECLINE[name])
    assert response.failure is not None
    assert declines(response.failure)
    with pytest.raises(Refused):
        check_response(response, Request())


@pytest.mark.parametrize("name", REFUTE)
def test_internal_errors_and_slips_of_code_refute(name: str) -> None:
    response = answer(REFUTE[name])
    assert response.failure is not None
    assert not declines(response.failure)
    with pytest.raises(Violation):
        check_response(response, Request())


@pytest.mark.parametrize("name", MISSING)
def test_what_is_missing_here_is_an_error_of_the_set_up(name: str) -> None:
    error, words = MISSING[name]
    response = answer(error)
    assert response.failure is not None
    assert words in what_is_missing(response.failure)
    with pytest.raises(SetUpError, match="cannot run here"):
        check_response(response, Request())


def test_an_assertion_without_a_message_is_told_by_its_line(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def f(on_a_gpu):\n    assert on_a_gpu\n")
    with pytest.raises(AssertionError) as caught:
        runpy.run_path(str(tmp_path / "mine.py"))["f"](False)
    assert describe_failure(caught.value).message == "assert on_a_gpu"
    assert describe_failure(ValueError()).message == describe_failure(AssertionError()).message == ""


def test_a_refusal_that_speaks_of_a_device_is_no_missing_one() -> None:
    for error in (
        ValueError("query must be on a CUDA device"),
        RuntimeError("Expected all tensors on the same device"),
    ):
        response = answer(error)
        assert response.failure is not None
        assert not what_is_missing(response.failure)


# Whole reports


def reference(query: Any, key: Any, value: Any, **_: Any) -> Any:
    with np.errstate(all="ignore"):
        scores = query.astype(np.float64) @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return (weights / weights.sum(-1, keepdims=True) @ value).astype(query.dtype)


def check(function: Any, **fields: Any) -> Any:
    record = Implementation(function, array="numpy", dtypes=("float32", "float64"), sizes=positive, **fields)
    return check_implementation(record, effort="quick")


def positive(n_q: int, n_kv: int, d: int, d_v: int, H: int, H_kv: int) -> bool:
    return min(n_q, n_kv, d, d_v) > 0


def test_a_right_kernel_with_a_runtimes_exceptions_is_not_refuted() -> None:
    invalid = made("InvalidArgument", ONNX)

    def target(query: Any, key: Any, value: Any) -> Any:
        if query.dtype != np.float32 or query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
            raise invalid("[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Unexpected input")
        if query.shape[-3] != key.shape[-3]:
            raise invalid("[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Unexpected input")
        return reference(query, key, value)

    report = check(target)
    assert not report.with_status("refuted"), report
    assert report.verdict == "conforms", report


def test_an_exception_of_its_own_on_the_core_prevents_conforms() -> None:
    own = made("NotToday", "_target_mine")

    def target(query: Any, key: Any, value: Any) -> Any:
        raise own("not today")

    report = check(target)
    assert report.verdict == "incomplete"
    assert "not today" in report.reason()


def test_a_missing_module_is_one_error_and_no_refutation() -> None:
    def target(query: Any, key: Any, value: Any) -> Any:
        import no_such_module_anywhere

        return no_such_module_anywhere.attention(query, key, value)

    report = check(target)
    assert report.verdict == "error"
    assert not report.counterexamples
    assert report.reason().count("no_such_module_anywhere") == 1, report.reason()
    assert {r.status for r in report.laws} == {"not_applicable"}


def test_what_triton_needs_is_an_error_of_the_set_up_with_the_way_out() -> None:
    driver = describe_failure(RuntimeError("0 active drivers ([]). There should only be one."))
    assert "There should only be one.; without a GPU, use --runtime triton (" in what_is_missing(driver)
    lacks = Response("raised", failure=describe_failure(LacksOperation("Triton's interpreter cannot run f")))
    with pytest.raises(SetUpError, match=r"cannot run here: Triton's interpreter cannot run f$"):
        check_response(lacks, Request())
    unfit = Response("raised", failure=describe_failure(UnfitBlock("the blocks of f do not fit these sizes")))
    with pytest.raises(Refused, match="UnfitBlock: the blocks of f do not fit"):
        check_response(unfit, Request())


@pytest.mark.thorough(keep=("2",))
@pytest.mark.parametrize("number", [0, 2, 3, 7])
def test_a_wrong_number_of_results_is_an_error_with_its_advice(number: int) -> None:
    def target(query: Any, key: Any, value: Any) -> Any:
        return (reference(query, key, value),) * number

    report = check(target)
    assert report.verdict == "error", report
    assert not report.with_status("refuted")
    assert report.reason().startswith(f"the call returns {number} values, but is declared to return 'out'")
    assert report.reason().count("the call returns") == 1


@pytest.mark.usefixtures("unshrunk")
def test_a_number_of_results_that_changes_from_call_to_call_is_refuted() -> None:
    def target(query: Any, key: Any, value: Any) -> Any:
        out = reference(query, key, value)
        return (out, out) if query.shape[-2] > 3 else out

    report = check(target)
    assert report.verdict == "refuted", report
    assert "but is declared to return 'out'" in report.counterexamples[0].message

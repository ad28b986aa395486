"""The executor.

What carries out a request: every way in which a target can behave comes back as a response, and none is missed.
The targets are one-line functions; their results are small whole numbers, so comparisons are exact.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from attention_core.conformance.worker.exchange import Array, Request, Response, array
from attention_core.conformance.worker.executor import MAX_OUTPUTS, Executor

VALUES = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def spec(view: str = "contiguous", dtype: str = "float32") -> Array:
    return array(VALUES, dtype, view)


def run(target: Any, *args: Any, array: str = "torch", **fields: Any) -> Response:
    return Executor(target, array=array).run(Request(args or (spec(),), **fields))


def ok(response: Response) -> Response:
    assert response.status == "ok", response
    return response


def test_a_result_comes_back_with_dtype_and_shape() -> None:
    found = ok(run(lambda x: 2 * x.T, spec(dtype="bfloat16")))
    (value,) = found.outputs
    assert (value.dtype, value.shape) == ("bfloat16", (3, 2))
    np.testing.assert_array_equal(value.values, 2 * VALUES.T)
    assert found.seconds > 0
    assert found.has_graph
    assert (found.mutated, found.gradients, found.failure) == ((), {}, None)


def test_plain_arguments_and_keywords_arrive() -> None:
    got: list[Any] = []
    ok(run(lambda x, n, *, word, mask: got.append((n, word, mask.tolist())) or x,
           spec(), 3, kwargs={"word": ("a", None), "mask": array(np.array([True, False]), "bool")}))  # fmt: skip
    assert got == [(3, ("a", None), [True, False])]


def test_nobody_asks_for_gradients_in_a_forward_call() -> None:
    enabled: list[bool] = []
    ok(run(lambda x: enabled.append(torch.is_grad_enabled() or x.requires_grad) or x))
    assert enabled == [False]


@pytest.mark.parametrize("view", ["contiguous", "sliced", "padded", "offset", "transposed"])
@pytest.mark.parametrize("library", ["torch", "numpy"])
def test_writing_into_an_input_is_noticed(library: str, view: str) -> None:
    def write(x: Any, other: Any) -> Any:
        other[0, 0] += 1
        return x + 0

    assert ok(run(write, spec(view), spec(view), array=library)).mutated == ("1",)
    assert ok(run(lambda x, other: x + other, spec(view), spec(view), array=library)).mutated == ()


def outside_torch(x: Tensor) -> Tensor:
    x.as_strided((1,), (1,), 0).fill_(9.0)
    return x + 0


def outside_numpy(x: Any) -> Any:
    base = x
    while base.base is not None:
        base = base.base
    base.reshape(-1)[0] = 9.0
    return x + 0


@pytest.mark.parametrize("view", ["padded", "offset"])
@pytest.mark.parametrize(("library", "target"), [("torch", outside_torch), ("numpy", outside_numpy)])
def test_writing_beside_a_view_is_noticed(library: str, target: Callable[..., Any], view: str) -> None:
    assert ok(run(target, spec(view), array=library)).mutated == ("0",)


def test_writing_what_was_there_is_no_change() -> None:
    assert ok(run(lambda x: x.mul_(1))).mutated == ()


def test_writing_is_noticed_in_keywords_and_with_gradients() -> None:
    def write(x: Tensor, mask: Tensor) -> Tensor:
        mask.detach().zero_()
        return x * 1

    found = ok(run(write, kwargs={"mask": spec()}, wrt=("0",), cotangent=spec()))
    assert found.mutated == ("mask",)


class Odd(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even that")


class Interrupt(BaseException):
    pass


RAISED = {
    "KeyError": (KeyError("key"), "'key'"),
    "ZeroDivisionError": (ZeroDivisionError("zero"), "zero"),
    "Interrupt": (Interrupt("base"), "base"),
    "RecursionError": (RecursionError("deep"), "deep"),
    "Odd": (Odd(), "(no message: the exception cannot be shown)"),
}


@pytest.mark.parametrize("name", RAISED)
def test_exceptions_become_failures(name: str) -> None:
    error, message = RAISED[name]

    def target(x: Tensor) -> Tensor:
        raise error

    found = run(target)
    assert found.status == "raised"
    assert found.failure is not None
    assert (found.failure.types[0], found.failure.message) == (name, message)
    assert found.failure.types[-1] == "BaseException"
    assert name == "Odd" or "in target" in found.failure.traceback


def test_long_messages_are_cut() -> None:
    def target(x: Tensor) -> Tensor:
        raise ValueError("x" * 100_000)

    failure = run(target).failure
    assert failure is not None
    assert (len(failure.message), len(failure.traceback)) == (2000, 8000)


def test_leaving_the_process_is_a_lost_call() -> None:
    found = run(lambda x: sys.exit(3))
    assert (found.status, found.message) == ("died", "the target called sys.exit(3)")


def test_the_persons_own_interrupt_is_not_swallowed() -> None:
    def target(x: Tensor) -> Tensor:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(target)


WRONG = {
    "None": (lambda x: None, "expected a torch.Tensor, got NoneType"),
    "a number": (lambda x: 1.0, "expected a torch.Tensor, got float"),
    "an array of another library": (lambda x: x.numpy(), "expected a torch.Tensor, got ndarray"),
    "sparse": (lambda x: x.to_sparse(), "the numbers of the result cannot be read"),
    "meta": (lambda x: x.to("meta"), "the numbers of the result cannot be read"),
    "too many": (lambda x: (x,) * (MAX_OUTPUTS + 1), f"expected at most {MAX_OUTPUTS} results, got {MAX_OUTPUTS + 1}"),
    "a dict": (lambda x: {"out": x}, "expected a torch.Tensor, got dict"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_results_that_are_no_arrays_are_told_apart_from_refusals(name: str) -> None:
    target, words = WRONG[name]
    failure = run(target).failure
    assert failure is not None
    assert failure.types[0] == "WrongReturn"
    assert words in failure.message


@pytest.mark.parametrize("result", [(), []])
def test_an_empty_tuple_is_no_result(result: Any) -> None:
    assert ok(run(lambda x: result)).outputs == ()
    failure = run(lambda x: result, wrt=("0",), cotangent=spec()).failure
    assert failure is not None
    assert failure.message == "expected a result, got an empty tuple"


def test_several_results_and_absent_ones() -> None:
    assert [v.shape for v in ok(run(lambda x: (x, x[0], None))).outputs] == [(2, 3), (3,)]


def test_one_graph_is_differentiated_as_often_as_asked() -> None:
    calls: list[int] = []

    class Counting(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
            return x.clone()

        @staticmethod
        def backward(ctx: Any, down: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
            calls.append(len(calls) + 1)
            return calls[-1] * down

    found = ok(run(Counting.apply, wrt=("0",), cotangent=spec(), backwards=2))
    assert calls == [1, 2]
    gradient = found.gradients["0"]
    assert gradient is not None
    np.testing.assert_array_equal(gradient.values, 2 * VALUES)


def test_gradients_follow_the_cotangent_and_names() -> None:
    def product(x: Tensor, y: Tensor, z: Tensor | None = None) -> Tensor:
        return x * y + 0 * z if z is not None else x * y

    other = array(VALUES + 1, "float32")
    found = ok(run(product, spec(), other, wrt=("1", "0"), cotangent=array(2 * VALUES, "float32")))
    assert list(found.gradients) == ["1", "0"]
    first, second = (found.gradients[name] for name in ("0", "1"))
    assert first is not None
    assert second is not None
    np.testing.assert_array_equal(first.values, 2 * VALUES * (VALUES + 1))
    np.testing.assert_array_equal(second.values, 2 * VALUES * VALUES)


def test_an_unused_input_has_no_gradient() -> None:
    found = ok(run(lambda x, y: 3 * x, spec(), spec(), wrt=("0", "1"), cotangent=spec()))
    assert found.has_graph
    assert found.gradients["1"] is None
    assert found.gradients["0"] is not None


def test_a_detached_output_has_no_graph() -> None:
    found = ok(run(lambda x: x.detach() + 1, wrt=("0",), cotangent=spec()))
    assert not found.has_graph
    assert found.gradients == {"0": None}


def test_gradients_of_keywords() -> None:
    found = ok(run(lambda x, mask: x * mask, kwargs={"mask": spec()}, wrt=("mask",), cotangent=spec()))
    gradient = found.gradients["mask"]
    assert gradient is not None
    np.testing.assert_array_equal(gradient.values, VALUES**2)


def test_second_derivatives_along_directions() -> None:
    direction = array(np.ones((2, 3)), "float64")
    found = ok(run(lambda x: x**3, spec(dtype="float64"), wrt=("0",), cotangent=direction, second=(direction,)))
    first, second = found.gradients["0"], found.second["0"]
    assert first is not None
    assert second is not None
    np.testing.assert_array_equal(first.values, 3 * VALUES**2)
    np.testing.assert_array_equal(second.values, 6 * VALUES)


@pytest.mark.parametrize("target", [lambda x: x[0] * 2, lambda x: (x * 2).half()])
def test_gradients_of_a_wrong_form_are_left_to_whoever_looks_at_the_output(target: Any) -> None:
    found = ok(run(target, wrt=("0",), cotangent=spec()))
    assert found.gradients == {}
    assert len(found.outputs) == 1


def test_a_cotangent_becomes_as_wide_as_the_output() -> None:
    gradient = ok(run(lambda x: (x * 2).double(), wrt=("0",), cotangent=spec())).gradients["0"]
    assert gradient is not None and gradient.dtype == "float32"
    np.testing.assert_array_equal(gradient.values, 2 * VALUES)


def test_the_seed_decides_the_draw() -> None:
    draw = lambda x: torch.rand_like(x)  # noqa: E731
    first, again, other = (ok(run(draw, seed=s)).outputs[0].values for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


class Layer(nn.Module):
    def __init__(self, factor: float = 2.0) -> None:
        super().__init__()
        self.factor = nn.Parameter(torch.tensor([factor]))

    def forward(self, x: Tensor) -> Tensor:
        return self.factor * x if self.training else -self.factor * x

    def half(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return x / 2


def test_modes_reach_the_module() -> None:
    executor = Executor(Layer())
    for mode, sign in (("eval", -1), ("train", 1), ("eval", -1)):
        found = ok(executor.run(Request((spec(),), mode=mode)))
        np.testing.assert_array_equal(found.outputs[0].values, sign * 2 * VALUES)


def test_instances_are_kept_by_their_number() -> None:
    built: list[float] = []

    def factory(factor: float) -> Layer:
        built.append(factor)
        return Layer(factor)

    executor = Executor(factory)
    for number, factor in ((1, 3.0), (2, 5.0), (1, 3.0)):
        found = ok(executor.run(Request((spec(),), instance=(number, (factor,)))))
        np.testing.assert_array_equal(found.outputs[0].values, factor * VALUES)
    assert built == [3.0, 5.0]


def test_a_compiler_that_shows_the_source_first_is_quoted_with_its_reason() -> None:
    def target(x: Tensor) -> Tensor:
        raise RuntimeError(
            "at 18:4:\n    for start in range(0, stop, BLOCK):\n    ^\nAssertionError('the type changes')\n"
        )

    failure = run(target).failure
    assert failure is not None
    first, *source = failure.message.splitlines()
    assert first == "at 18:4: AssertionError('the type changes')" and source[0].endswith("BLOCK):")


def test_a_built_module_is_where_its_arguments_are() -> None:
    """On a GPU a module that was built without a device refused every call; "meta" is a device that each machine has."""
    executor = Executor(Layer, device="meta")
    executor.run(Request((spec(),), instance=(1, (3.0,))))
    assert executor.instances[1].factor.device.type == "meta"


def test_a_factory_is_called_once() -> None:
    executor = Executor(lambda: Layer(7.0), factory=True)
    np.testing.assert_array_equal(ok(executor.run(Request((spec(),)))).outputs[0].values, 7 * VALUES)


def test_parameters_are_told_and_set() -> None:
    executor = Executor(Layer())
    values = {"factor": array(np.array([11.0]), "float32")}
    found = ok(executor.run(Request((spec(),), parameters=values, load_parameters=True)))
    np.testing.assert_array_equal(found.outputs[0].values, 11 * VALUES)
    assert found.parameters["factor"].values.tolist() == [11.0]


class Pair:
    @staticmethod
    def split_heads(x: Tensor) -> Tensor:
        return x[0]


@pytest.mark.parametrize("target", [Pair(), (lambda x: x[0], lambda x: x[1])])
def test_methods_are_found_by_name_or_place(target: Any) -> None:
    assert ok(run(target, method="split")).outputs[0].values.tolist() == [1.0, 2.0, 3.0]


def test_a_missing_method_is_named() -> None:
    failure = run(Pair(), method="merge").failure
    assert failure is not None
    assert "no attribute 'merge'" in failure.message


def test_descriptions_of_targets() -> None:
    def target(query: Any, key: Any, value: Any, *rest: Any, scale: Any = None, **more: Any) -> Any: ...

    told = Executor(target).describe()
    assert told["callable"]
    kinds = [(p["name"], p["kind"], p["default"]) for p in told["parameters"]]
    assert kinds[3:] == [
        ("rest", "VAR_POSITIONAL", False), ("scale", "KEYWORD_ONLY", True), ("more", "VAR_KEYWORD", False),
    ]  # fmt: skip
    assert Executor(torch.softmax).describe()["parameters"] is None
    assert [p["name"] for p in Executor(Layer()).describe()["parameters"]] == ["x"]
    assert not Executor(3).describe()["callable"]


def test_jax_derivatives() -> None:
    pytest.importorskip("jax", reason="JAX is not installed: its derivatives are not tested here")
    found = ok(run(lambda x: x**2, array="jax", wrt=("0",), cotangent=spec()))
    gradient = found.gradients["0"]
    assert gradient is not None
    np.testing.assert_array_equal(gradient.values, 2 * VALUES * VALUES)


def compiling(target: Any) -> Executor:
    pytest.importorskip("jax", reason="JAX is not installed: its programs are not tested here")
    return Executor(target, array="jax", compiles=True)


def test_a_function_of_jax_is_traced_once_for_a_shape() -> None:
    traced: list[Any] = []

    def double(x: Any, times: float = 2.0) -> Any:
        traced.append((x.shape, times))
        return times * x

    executor = compiling(double)
    for values in (VALUES, -VALUES):
        found = ok(executor.run(Request((array(values, "float32"),))))
        np.testing.assert_array_equal(found.outputs[0].values, 2 * values)
    assert len(traced) == 1
    np.testing.assert_array_equal(ok(executor.run(Request((spec(),), {"times": 3.0}))).outputs[0].values, 3 * VALUES)
    down = array(np.ones_like(VALUES), "float32")
    gradients = [ok(executor.run(Request((spec(),), wrt=("0",), cotangent=down))).gradients["0"] for _ in range(2)]
    assert all(found is not None and (found.values == 2.0).all() for found in gradients)
    assert len(traced) == 3
    for _ in range(2):
        ok(executor.run(Request((spec(),), as_it_is=True)))
    assert len(traced) == 5


def test_what_jax_cannot_trace_is_called_as_it_is() -> None:
    def fussy(x: Any) -> Any:
        if float(x.sum()) < 0:  # a number, which a trace has not
            raise ValueError("the sum is negative")
        return 2 * x

    executor = compiling(fussy)
    np.testing.assert_array_equal(ok(executor.run(Request((spec(),)))).outputs[0].values, 2 * VALUES)
    failure = executor.run(Request((array(-np.abs(VALUES) - 1, "float32"),))).failure
    assert failure is not None and failure.types[0] == "ValueError" and failure.message == "the sum is negative"

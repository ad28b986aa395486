"""Runs requests against a live target: the only code that touches what is under test.

It knows nothing of attention, of laws or of expected values: arrays in, call, derivatives, arrays out. It runs in
the worker process for targets given by name and in the caller's process for objects given to `check_implementation`.
"""

from __future__ import annotations

import inspect
import os
import sys
import time
import traceback
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

from attention_core.conformance.worker.arrays import (
    JaxArrays,
    NumpyArrays,
    TorchArrays,
    WrongReturn,
    describe_kind,
    library,
)
from attention_core.conformance.worker.bound_parameters import (
    CONSTRUCTOR,
    FACTORY,
    LEFT,
    LEFT_BY_WRAPPER,
    Named,
    bound,
    named_parameters,
)
from attention_core.conformance.worker.built import (
    RecordedConfig,
    as_config,
    config_class_of,
    contract_of_class,
    step_of_class,
    store_of_class,
    takes_a_module,
    with_stand_in,
)
from attention_core.conformance.worker.exchange import (
    PARAMETER,
    Array,
    Failure,
    FlexArgument,
    Request,
    Response,
    Settings,
    Value,
)
from attention_core.conformance.worker.flex_arguments import build_flex_argument
from attention_core.conformance.worker.grouped_operator import call_over_pages, is_grouped_operator
from attention_core.conformance.worker.mask_classes import CONTRACTS, classes_in_annotation
from attention_core.conformance.worker.mask_objects import call_with_masks, needs_objects, takes_mask_objects
from attention_core.conformance.worker.planned import call_planned, kind_of_plan, plans
from attention_core.conformance.worker.process_state import ProcessState, seed_generators
from attention_core.conformance.worker.written_sizes import written_sizes
from attention_core.declaration.implementation import TargetError, summarize_error
from attention_core.worker.foreign import ForeignFunction
from attention_core.worker.processes import COMPILERS

MAX_OUTPUTS = 4
STACKED, PACKED = ("0", "1", "2"), "packed:"
"""The arguments that one array holds, and the name under which it stands among what is built."""
OPTIMISED = "torch._dynamo.eval_frame.OptimizedModule"
COTANGENT = "cotangent"
"""Its name among the arguments: a backward must leave it as it was, too."""


class Executor:
    """Holds the target and the instances built from it; `run` carries out one request."""

    def __init__(
        self, target: Any, *, factory: bool = False, array: str = "torch", device: str = "cpu", x64: bool = False,
        compiles: bool = False, convention: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.device, self.compiles = device, compiles
        self.library: TorchArrays | NumpyArrays | JaxArrays = library(array, device, x64)
        self.named: dict[str, Named] = {}  # label of a callable -> its parameters
        self.bound: dict[str, dict[str, str]] = {}  # how the call that runs gives them their values
        self.built: dict[str, dict[str, str]] = {}  # the same of the factory that made the target
        if factory and callable(target):
            self.built = {FACTORY: bound(target, named_parameters(target), (), {})}
        made = self._construct(target) if factory else target
        made = call_planned(made) if kind_of_plan(made) else adapt_call(made, **convention or {})
        self.target = with_stand_in(made) if takes_a_module(made) else made
        self.instances: dict[int, Any] = {}
        self.process = ProcessState()
        self.names_read, self.read_by_key = list[str](), False  # of the config of the instance built last

    @staticmethod
    def _construct(factory: Any) -> Any:
        if not callable(factory):
            raise TargetError(f"--factory: the target is not callable (it is of type {type(factory).__name__})")
        try:
            return factory()
        except TypeError as error:
            raise TargetError(
                f"--factory calls the target without arguments, which raised {summarize_error(error)}: "
                "name a function without arguments that builds the attention"
            ) from error

    def run(self, request: Request) -> Response:
        """Carry out one request; every exception of the target becomes a response, with what the call changed."""
        start, found = time.perf_counter(), dict[str, str]()
        self.process.changed = {}
        self.bound = dict(self.built)
        try:
            with (
                nullcontext() if request.watch is None else seed_generators(request.watch, found),
                self.library.on_threads(request.threads),
            ):
                response = self._run(request)
        except KeyboardInterrupt:
            raise
        except SystemExit as error:
            return Response("died", message=f"the target called sys.exit({error.code!r})")
        except BaseException as error:
            response = Response("raised", failure=describe_failure(error))
        changed = tuple((what, *values) for what, values in self.process.changed.items())
        facts = {"seconds": time.perf_counter() - start, "changed": changed, "generators": found, "bound": self.bound}
        return Response(**{**vars(response), **facts})

    def _run(self, request: Request) -> Response:
        target = self._callable(request)
        lib = self.library
        if request.describe:
            return self._describe(target)
        built = self._build_arguments(request)
        if request.earlier is not None:
            built = self._written_into(target, request, request.earlier, built)
        arrays = [n for n, a in self._name_arguments(request).items() if isinstance(a, Array)]
        before = {name: self._state(built[name]) for name in arrays}
        own = {f"{PARAMETER}{i}": p for i, p in enumerate(lib.parameters(target).values())} if request.wrt else {}
        frozen = {name for name, parameter in own.items() if not parameter.requires_grad}
        request = replace(request, wrt=tuple(name for name in request.wrt if name not in frozen))
        for name in request.wrt:
            built[name] = own[name] if name in own else lib.differentiable(built[name])
        if request.cotangent is not None:
            built[COTANGENT] = lib.build(request.cotangent)
            before[COTANGENT] = self._state(built[COTANGENT])
        if request.seed is not None:
            lib.seed(request.seed)
        if isinstance(lib, JaxArrays) and request.wrt:
            outputs, first, second, has_graph = self._run_jax(lib, target, request, built)
        else:
            outputs, first, second, has_graph = self._run_eagerly(target, request, built)
        arrays = [name for name in arrays if name not in request.written]
        shared = self._find_shared_memory(outputs, {name: built[name] for name in arrays})
        values = tuple(self._read(o, f"result {i + 1} of {len(outputs)}: ") for i, o in enumerate(outputs))
        mutated = tuple(name for name in arrays if self._state(built[name]) != before[name])
        if COTANGENT in before and self._state(built[COTANGENT]) != before[COTANGENT]:
            mutated = (*mutated, COTANGENT)
        if request.overwrite:
            values = tuple(replace(value, values=value.values.copy()) for value in values)  # not what is overwritten
        for array in {"inputs": [built[n] for n in arrays], "outputs": outputs}.get(request.overwrite, []):
            lib.overwrite(array)
        read = self._read_gradients
        return Response(
            "ok", values, read(request, first), read(request, second), mutated, shared, has_graph=has_graph,
            parameters=self._parameters(target) if request.load_parameters else {},
        )  # fmt: skip

    def _describe(self, target: Any) -> Response:
        """What can be said of a callable without calling it."""
        call = getattr(target, "forward", target)
        facts = {"parameters": described_parameters(call), "read": self.names_read, "keyed": self.read_by_key}
        return Response("ok", described=facts)

    def _run_eagerly(
        self, target: Any, request: Request, built: dict[str, Any]
    ) -> tuple[list[Any], list[Any], list[Any], bool]:
        """The outputs of a call, its first and second gradients, and whether the outputs have a graph."""
        call = partial(self._call_program if self._is_program(request) else self._call, target, request, built)
        result = self.library.call(call, request.graph or bool(request.wrt))
        if request.method is not None and result is getattr(target, "__self__", call):
            result = None  # a method that gives its own object gives nothing new
        if request.written:
            result = tuple(built[name] for name in request.written)
        outputs = self._arrays_first(result) if request.loose else as_outputs(result)
        alive = [self._between(target, request.between) for _ in range(request.betweens)]
        if not request.wrt:
            return outputs, [], [], True
        with self.process.preserve(request.watch is not None):
            first, second, has_graph = self._differentiate(request, outputs, built)
        del alive
        return outputs, first, second, has_graph

    def _state(self, tensor: Any) -> tuple[Any, ...]:
        """What a call must leave as it was: the bytes under an array, and how it lies on them."""
        return self.library.memory(tensor), self.library.layout(tensor)

    def _find_shared_memory(self, outputs: list[Any], arrays: dict[str, Any]) -> tuple[tuple[int, str], ...]:
        """Which results lie in the memory of which arguments: who writes into one, writes into the other."""
        places = {name: self.library.storage(array) for name, array in arrays.items()}
        found = ((number, self.library.storage(out)) for number, out in enumerate(outputs))
        return tuple((n, name) for n, at in found for name, place in places.items() if at is not None and at == place)

    def _between(self, target: Any, request: Request | None) -> Any:
        """The result of a call made while another one's result, or graph, is alive."""
        if request is None:
            return None
        built = self._build_arguments(request)
        for name in request.wrt:
            built[name] = self.library.differentiable(built[name])
        return self.library.call(lambda: self._call(target, request, built), request.graph or bool(request.wrt))

    def _written_into(self, target: Any, request: Request, earlier: Request, built: dict[str, Any]) -> dict[str, Any]:
        """The arrays of an earlier call, made now, with the numbers of this one written into them afterwards."""
        first = self._build_arguments(earlier)
        self.library.call(lambda: self._call(target, earlier, first), False)
        for name, argument in self._name_arguments(request).items():
            if isinstance(argument, Array) and name in first:
                self.library.refill(first[name], argument)
                built[name] = first[name]
        return built | ({PACKED: first[PACKED]} if PACKED in first else {})

    def _arrays_first(self, result: Any) -> list[Any]:
        """The results with those left out after the first that are not arrays: a cache, None, a tuple."""
        outputs = list(result.values()) if isinstance(result, Mapping) else result
        outputs = list(outputs) if isinstance(outputs, tuple | list) else [outputs]
        return [o for i, o in enumerate(outputs) if i == 0 or self.library.is_array(o)]

    def _read(self, output: Any, place: str) -> Value:
        try:
            return self.library.read(output)
        except WrongReturn as error:
            if place.startswith("result 1 of 1"):
                raise
            raise WrongReturn(f"{place}{error}") from error
        except Exception as error:  # sparse, meta and other arrays without plain numbers
            raise WrongReturn(f"the numbers of the result cannot be read: {type(error).__name__}: {error}") from error

    def _callable(self, request: Request) -> Any:
        target = self.target
        if request.instance is not None:
            _, arguments, *keywords = request.instance
            self._note(CONSTRUCTOR, target, arguments, dict(keywords[0] if keywords else {}))
            target = self._instance(target, *request.instance, watched=request.watch is not None)
        if request.apart and isinstance(self.library, TorchArrays):
            target = self.library.copy_module(target)
        if request.mode is not None and isinstance(self.library, TorchArrays):
            self.library.set_mode(target, request.mode)
        if request.parameters is not None:
            values = {name: self.library.build(a) for name, a in request.parameters.items()}
            self.library.load_parameters(target, values)
        if request.method is not None:
            target = find_method(target, request.method)
        self._note(request.method or "", target, request.args, request.kwargs)
        return target

    def _note(self, label: str, target: Any, args: Any, kwargs: Any) -> None:
        """Note how a call gives the parameters of a callable their values."""
        if label not in self.named:
            module = isinstance(self.library, TorchArrays) and isinstance(target, self.library.torch.nn.Module)
            self.named[label] = named_parameters(target.forward if module else target)
        given = bound(target, self.named[label], args, kwargs)
        left = getattr(target, LEFT_BY_WRAPPER, None)
        self.bound[label] = given | (dict.fromkeys(left, LEFT) if isinstance(left, tuple) else {})

    def _instance(
        self, target: Any, number: int, arguments: Any, keywords: Mapping[str, Any] | None = None, *, watched: bool
    ) -> Any:  # fmt: skip
        """The object that the factory built under a number."""
        if number not in self.instances:
            args = [as_config(a) if isinstance(a, Settings) else a for a in arguments]
            kwargs = {k: as_config(a) if isinstance(a, Settings) else a for k, a in (keywords or {}).items()}
            with self.process.preserve(watched):
                self.instances[number] = self.library.place(target(*args, **kwargs))
            configs = [c for c in (*args, *kwargs.values()) if isinstance(c, RecordedConfig)]
            self.names_read = sorted({name for config in configs for name in config.names_read})
            self.read_by_key = any(config.keyed for config in configs)
        return self.instances[number]

    def _parameters(self, target: Any) -> dict[str, Value]:
        return {name: self.library.read(p) for name, p in self.library.parameters(target).items()}

    def _build(self, argument: Any) -> Any:
        if isinstance(argument, tuple):
            return tuple(self._build(one) for one in argument)
        if isinstance(argument, FlexArgument):
            return build_flex_argument(argument, self.library.build(argument.table))
        return self.library.build(argument) if isinstance(argument, Array) else argument

    def _build_arguments(self, request: Request) -> dict[str, Any]:
        """The arguments by name; those that are stacked are views of one array, which stands under `PACKED`."""
        built = {name: self._build(a) for name, a in self._name_arguments(request).items()}
        if request.stacked is not None and not request.wrt:
            packed = built[PACKED] = self.library.stack([built[name] for name in STACKED], request.stacked)
            built |= {name: self.library.part(packed, request.stacked, i) for i, name in enumerate(STACKED)}
        return built

    @staticmethod
    def _name_arguments(request: Request) -> dict[str, Any]:
        return {str(i): a for i, a in enumerate(request.args)} | dict(request.kwargs)

    def _call(self, target: Any, request: Request, built: dict[str, Any]) -> Any:
        built = built | {name: built[other] for name, other in request.same}
        args = [built[str(i)] for i in range(len(request.args))]
        if request.stacked is not None:
            packed = built.get(PACKED)
            args[:3] = [self.library.stack(args[:3], request.stacked) if packed is None else packed]
        with self.process.preserve(request.watch is not None):
            return target(*args, **{name: built[name] for name in request.kwargs})

    def _is_program(self, request: Request) -> bool:
        """Whether a call of JAX becomes one program: plain arrays and scalars go in, and only results come out."""
        plain = Request(request.args, request.kwargs, wrt=request.wrt, cotangent=request.cotangent, of=request.of)
        plain = replace(plain, same=request.same, loose=request.loose, overwrite=request.overwrite, graph=request.graph)
        scalars = (Array, bool, int, float, str, type(None))
        simple = all(isinstance(a, scalars) for a in self._name_arguments(request).values())
        return self.compiles and isinstance(self.library, JaxArrays) and simple and plain == request

    def _call_program(self, target: Any, request: Request, built: dict[str, Any], wrt: tuple[str, ...] = ()) -> Any:
        """The call as a program of its arrays, the scalars compiled into it; with `wrt`, its results and gradients."""
        assert isinstance(self.library, JaxArrays)
        lib, named = self.library, self._name_arguments(request)
        arrays = [name for name, value in named.items() if isinstance(value, Array)]
        scalars = tuple((name, repr(value)) for name, value in named.items() if not isinstance(value, Array))
        key = (id(target), scalars, tuple(arrays), request.same, wrt, request.of)

        def function(*values: Any) -> Any:
            own = built | dict(zip(arrays, values, strict=False))
            if not wrt:
                return self._call(target, request, own)
            of = lambda *inputs: self._call(target, request, own | dict(zip(wrt, inputs, strict=True)))  # noqa: E731
            return lib.vjp(of, [own[name] for name in wrt], values[-1], request.of)

        given = [built[name] for name in arrays]
        return lib.call_program(key, function, [*given, built[COTANGENT]] if wrt else given)

    def _differentiate(self, request: Request, outputs: list[Any], built: dict[str, Any]) -> Any:
        lib, inputs = self.library, [built[name] for name in request.wrt]
        assert request.cotangent is not None
        cotangent = built[COTANGENT]
        if not outputs:
            raise WrongReturn("expected a result, got an empty tuple")
        if len(outputs) <= request.of:
            return [], [], True  # the wrong number of results is reported from the outputs
        out = outputs[request.of]
        if isinstance(lib, TorchArrays):
            if not isinstance(out, lib.torch.Tensor):
                raise WrongReturn(f"expected a torch.Tensor, got {describe_kind(out)}")
            if out.is_floating_point() and lib.torch.promote_types(out.dtype, cotangent.dtype) == out.dtype:
                cotangent = cotangent.to(out.dtype)  # exact, as autograd has it; whether this dtype is right, laws say
            if out.shape != cotangent.shape or out.dtype != cotangent.dtype:
                return [], [], True  # the wrong shape or dtype is reported from the outputs
        directions = None if request.second is None else [lib.build(d) for d in request.second]
        for _ in range(request.backwards - 1):
            lib.gradients(out, inputs, cotangent, None, keep=True)
        return lib.gradients(out, inputs, cotangent, directions)

    def _run_jax(self, lib: JaxArrays, target: Any, request: Request, built: dict[str, Any]) -> Any:
        def function(*inputs: Any) -> Any:
            return self._call(target, request, built | dict(zip(request.wrt, inputs, strict=True)))

        assert request.cotangent is not None
        if self._is_program(request):
            return *self._call_program(target, request, built, request.wrt), [], True
        inputs = [built[name] for name in request.wrt]
        outputs, first = lib.vjp(function, inputs, built[COTANGENT], request.of)
        return outputs, first, [], True

    def _read_gradients(self, request: Request, found: list[Any]) -> dict[str, Value | None]:
        if not found:
            return {}
        pairs = zip(request.wrt, found, strict=True)
        return {name: None if g is None else self.library.read(g) for name, g in pairs}

    def describe(self) -> dict[str, Any]:
        """What the parent needs to know of the target: its parameters, kind and where it can be imported from."""
        target = self.target
        found: dict[str, Any] = {
            "callable": callable(target),
            "type": type(target).__name__,
            "module": getattr(target, "__module__", "") or "",
            "qualname": getattr(target, "__qualname__", ""),
            "parameters": None,
            "is_module": isinstance(self.library, TorchArrays) and isinstance(target, self.library.torch.nn.Module),
            "is_class": inspect.isclass(target),
            "lacks": [name for name in ("split", "merge") if not has_method(target, name)],
            "libraries": libraries_of(target),
            "compiles": any(name in sys.modules for name in COMPILERS),
            "compiled": "torch.compile"
            if hasattr(target, "_torchdynamo_orig_callable") or is_optimised(target)
            else "",
            "interpreted": "triton" in sys.modules and os.environ.get("TRITON_INTERPRET") == "1",
            "simulated": "numba.cuda" in sys.modules and os.environ.get("NUMBA_ENABLE_CUDASIM") == "1",
            "x64": not isinstance(self.library, JaxArrays) or self.library.x64,
        }
        foreign = isinstance(target, ForeignFunction)
        found["dtypes"] = list(target.dtypes) if foreign else None
        left_out = getattr(target, "dtypes_left_out", None)
        found["left_out"] = left_out if isinstance(left_out, dict) else {}
        found["written"] = [] if foreign else written_sizes(target)
        found["calls"] = find_called_kernels(target, found["is_module"])
        found["parameters"] = described_parameters(target.forward if found["is_module"] else target)
        found["stand_in"] = bool(getattr(target, "takes_a_module", False))
        found["planned"] = str(getattr(target, "planned", ""))
        found["operator"] = str(getattr(target, "operator", ""))
        without = {"given": [], "others": classes_in_annotation(target)} if takes_mask_objects(target) else {}
        found["mask_objects"] = getattr(target, "mask_objects", without)
        found["config"] = config_class_of(target) if found["is_class"] else None
        if found["is_class"]:
            module = isinstance(self.library, TorchArrays) and issubclass(target, self.library.torch.nn.Module)
            found["suits"], found["plans"] = contract_of_class(target, module), plans(target)
            found["step"], found["store"] = step_of_class(target), store_of_class(target)
        return found


def adapt_call(target: Any, contract: str = "", causal: str = "", *, objects: bool = False) -> Any:
    """A target whose library gives it objects or other arrays than a contract has, as a function of the contract's.

    Args:
        causal: where the diagonal begins as declared, "" where nothing is.
        objects: whether objects as masks are declared, `--parameter attn_bias=objects`.
    """
    if contract == "paged" and is_grouped_operator(target):
        return call_over_pages(target)
    if contract in CONTRACTS and (objects or needs_objects(target, contract)):
        return call_with_masks(target, contract, causal)
    return target


def is_optimised(target: Any) -> bool:
    """Whether a module is one that torch.compile made."""
    return any(f"{kind.__module__}.{kind.__name__}" == OPTIMISED for kind in type(target).__mro__)


def described_parameters(call: Any) -> list[dict[str, Any]] | None:
    """The parameters of a callable as JSON values; None where its signature cannot be read."""
    try:
        signature = inspect.signature(call)
    except (TypeError, ValueError):
        return None
    empty = inspect.Parameter.empty
    return [
        {
            "name": p.name, "kind": p.kind.name, "default": p.default is not empty,
            "value": p.default if isinstance(p.default, bool | int | float) else None,
            "word": p.default if isinstance(p.default, str) else None,
            "pair": _is_pair(p.default), "whole": _is_whole(p), "array": _may_be_array(p),
        }
        for p in signature.parameters.values()
    ]  # fmt: skip


def _is_pair(default: Any) -> bool:
    """Whether a default is two whole numbers, such as the sides of a window."""
    return isinstance(default, tuple | list) and len(default) == 2 and all(isinstance(one, int) for one in default)


def _is_whole(parameter: inspect.Parameter) -> bool | None:
    """Whether a parameter takes whole numbers alone, by its annotation; None where only its default is one."""
    words = getattr(parameter.annotation, "__name__", "") if isinstance(parameter.annotation, type) else ""
    words = words or str(parameter.annotation).removeprefix("typing.")
    if words.replace(" ", "") in WHOLE:
        return True
    default = parameter.default
    return None if isinstance(default, int) and not isinstance(default, bool) else False


def _may_be_array(parameter: inspect.Parameter) -> bool:
    """Whether the annotation of a parameter names an array."""
    return any(word in str(parameter.annotation) for word in ("Tensor", "Array", "ndarray"))


WHOLE = ("int", "int|None", "None|int", "Optional[int]", "typing.Optional[int]", "Union[int,None]")
"""Annotations of parameters that take whole numbers alone."""


def has_method(target: Any, name: str) -> bool:
    """Whether `find_method` finds something that can be called."""
    try:
        return callable(find_method(target, name))
    except (AttributeError, IndexError):
        return False


KERNELS = {"scaled_dot_product_attention", "flex_attention", "multi_head_attention_forward", "MultiheadAttention"}
"""Names under which torch has attention."""
OWN = {"attention_core": "core", "transformers": "transformers", "torch": "torch"}
"""Packages with kernels of the table -> how the names of these begin."""


def find_called_kernels(target: Any, is_module: bool = False) -> list[str]:
    """Whose attention a target is, or plainly calls: of "torch", "transformers", "core"."""
    function = inspect.unwrap(target) if inspect.isfunction(target) else getattr(target, "forward", None) or target
    function = function if hasattr(function, "__code__") else type(function).__dict__.get("__call__", function)
    module = getattr(target, "__module__", None) or type(target).__module__
    found = {OWN[module.partition(".")[0]]} if module.partition(".")[0] in OWN else set()
    names = set(getattr(getattr(function, "__code__", None), "co_names", ()))
    known = getattr(function, "__globals__", {})
    for name in names & known.keys():
        names |= set(getattr(getattr(known[name], "__code__", None), "co_names", ()))  # a helper beside it
        root = (getattr(known[name], "__module__", None) or "").partition(".")[0]
        found |= {OWN[root]} if root in ("transformers", "attention_core") else set()
    parts = {type(m).__name__ for m in target.modules()} if is_module else set()
    return sorted(found | ({"torch"} if KERNELS & (names | parts) else set()))


def libraries_of(target: Any) -> list[str]:
    """The array libraries that the file of a function has imported: what its arguments are likely to be."""
    function = (
        inspect.unwrap(target)
        if inspect.isfunction(target)
        else type(target).__dict__.get("__call__") or getattr(target, "forward", None)
    )
    modules = [getattr(v, "__name__", "") for v in getattr(function, "__globals__", {}).values() if inspect.ismodule(v)]
    return sorted({name.partition(".")[0] for name in modules} & {"torch", "numpy", "jax"})


def find_method(target: Any, name: str) -> Any:
    """`target.name`, `target.name_heads`, or an item of a pair ("split" first, "merge" second)."""
    if isinstance(target, tuple | list):
        return target[("split", "merge").index(name)]
    for candidate in (name, f"{name}_heads"):
        if hasattr(target, candidate):
            return getattr(target, candidate)
    raise AttributeError(f"the target has no attribute {name!r}")


def as_outputs(result: Any) -> list[Any]:
    """The returned arrays as a list: a tuple stays several outputs, anything else is one."""
    if isinstance(result, list) and result and isinstance(result[0], list | float | int):
        return [result]  # an array as nested lists
    outputs = list(result) if isinstance(result, tuple | list) else [result]
    if len(outputs) > MAX_OUTPUTS:
        raise WrongReturn(f"expected at most {MAX_OUTPUTS} results, got {len(outputs)}")
    return [o for i, o in enumerate(outputs) if i == 0 or o is not None]


def with_its_reason(message: str) -> str:
    """A message whose first line, the only one that reports show, ends in a colon, with the last one after it.

    A compiler says where first ("at 18:4:"), shows the source, and what is wrong comes last.
    """
    first, *others = message.splitlines() or [""]
    return "\n".join([f"{first} {others[-1].strip()}", *others]) if others and first.endswith(":") else message


def asserted_line(error: BaseException) -> str:
    """The line of an assertion without a message, "" of any other exception or where there is no source."""
    steps = traceback.extract_tb(error.__traceback__) if isinstance(error, AssertionError) else []
    line = (steps[-1].line or "").strip() if steps else ""
    return line if line.startswith("assert") else ""


def describe_failure(error: BaseException) -> Failure:
    """An exception as bounded text."""
    classes = [t for t in type(error).__mro__ if t is not object]
    names, homes = tuple(t.__name__ for t in classes), tuple(str(t.__module__) for t in classes)
    try:
        text = "".join(traceback.format_exception(error))
        message = str(error) or asserted_line(error)
        return Failure(names, with_its_reason(message)[:2000], text[-8000:], homes)
    except Exception:  # an exception may fail to describe itself
        return Failure(names, "(no message: the exception cannot be shown)", "", homes)

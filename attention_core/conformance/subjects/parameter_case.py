"""Cases of the contracts beside `attention`: a handful of sizes and options, and arrays drawn from them.

A mask builder or a rotary embedding is called with sizes, not with a ready tensor problem. Such a case is a few whole
numbers that shrink towards their minimum; every array a law needs follows from them, the seed and a plainness level.

A condition speaks of the contract's own sizes (n, H, d, ...), also where a case holds them in another form: a rotary
case counts pairs of features, and d is twice their number.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import count, product
from typing import Any

import numpy as np

from attention_core.conformance.budgets.budget import round_to
from attention_core.conformance.cases.near import (
    MOST_WORK,
    Near,
    complete_sizes,
    options_near,
    sizes_near,
    small_sizes,
    work_of,
)
from attention_core.conformance.subjects.binding import advise_on_class
from attention_core.conformance.subjects.evidence import (
    Evidence,
    NotApplicable,
    Refused,
    Result,
    Shown,
    Violation,
    require_same,
)
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.outcomes import LOST, check_response
from attention_core.conformance.subjects.session_subject import SubjectBase
from attention_core.conformance.worker.exchange import NDArray, Request, Response, array
from attention_core.conformance.worker.runner import Runner
from attention_core.declaration.implementation import Implementation, TargetError
from attention_core.declaration.sizes import SizeCondition

FUNCTIONS = (
    "mask-builder",
    "rotary",
    "bias",
    "position-table",
    "self-attention",
    "self-attention-steps",
    "merge",
    "varlen",
    "paged",
    "linear-attention",
    "quantised",
    "block-mask",
    "mla",
    "tree-mask",
    "topk-index",
    "indexer",
    "variant-attention",
)
"""Contracts whose target is called itself; those of the others are factories, or hold what is called."""
LARGE_SCORES: dict[str, tuple[Any, ...]] = {
    "scores": (None, None, None, None, "large", "large", "low", "high", "apart", "apart")
}
"""An option of cases, a fifth of which have scores far above what exp can take, and far apart; those of a further
fifth all lie far below 0, or far above it, and near each other; of a last one those of a query head and row lie near
each other, and far from those of half of the others: a maximum over heads or rows leaves a row nothing."""
FAR_SCORES: dict[str, tuple[Any, ...]] = {"scores": ("far", "far", "low", "high", "apart")}
"""The same of laws that are about such scores; what is far is the law's to say."""
APART: dict[str, tuple[Any, ...]] = {"scores": (None, None, "apart")}
"""The same of laws that are about query heads which share a key head."""
LOUD = 64.0
"""What their queries are multiplied by: exp(89) is too large for float32, and a score of two tokens is about 64."""
OFFSETS: Mapping[str, tuple[float, ...]] = {
    "float64": (2.0**11, 2.0**15, 2.0**18),
    "float32": (2.0**8, 2.0**11, 2.0**15),
}
"""How far below 0 or above it such scores lie, more or less: exp(-2^8) is 0 in float32, exp(-2^11) in float64."""
BESIDE_IT = 16.0
"""What the first feature of their keys holds."""
NUMBERS = count(1)
"""The numbers of built objects."""
WIDER = (8, 16, 32, 64, 128)
"""Sizes that are tried where none of a law's own range is declared."""
UNDECLARED_SIZES = "it asks for sizes that are not declared (--sizes)"
TRIES = 50
TRIES_NEAR = 10
WIDE, WIDE_SHARE = ("float32", "float64"), 0.9
"""Dtypes that show a small error, and how often a case near a written size has one of them."""
NARROW_FIRST = ("bfloat16", "float16", "float32", "float64")
"""Dtypes by their precision."""


@dataclass(frozen=True, eq=False)
class ParameterCase:
    """Sizes and options of one call.

    Args:
        sizes: whole numbers such as {"n_q": 5, "n_kv": 7}; shrinking lowers them.
        minimum: the smallest allowed value of each size (1 where absent: what a law adds is seldom meant to vanish).
        options: further JSON values (never shrunk).
        dtype: of the arrays the case draws.
        seed: what the arrays follow from.
        plain: 0 normal numbers, 1 small whole numbers, 2 only 0 and 1.
    """

    sizes: Mapping[str, int]
    minimum: Mapping[str, int] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    dtype: str = "float32"
    seed: int = 0
    plain: int = 0

    slices = 1

    def __getitem__(self, name: str) -> int:
        return self.sizes[name]

    def rng(self, purpose: str) -> np.random.Generator:
        """A generator that depends on the case's seed and on what it is for."""
        return np.random.default_rng([self.seed, *purpose.encode()])

    def queries(self, purpose: str, *shape: int, width: int = 0) -> NDArray:
        """Drawn queries, which make the scores that the case asks for, large ones in a dtype that can tell them apart.

        Args: width: features of a head where it is not the size d.
        """
        loud = self.options.get("scores") == "large" and self.dtype in WIDE
        drawn = self.values(purpose, *shape) * (LOUD if loud else 1.0)
        return self._replace_first_feature(
            drawn, self._offset() / BESIDE_IT, width, apart=self.options.get("scores") == "apart"
        )

    def keys(self, purpose: str, *shape: int, width: int = 0) -> NDArray:
        """Drawn keys, which make low or high scores with such queries where the case asks for them."""
        return self._replace_first_feature(self.values(purpose, *shape), BESIDE_IT if self._offset() else 0.0, width)

    def _offset(self) -> float:
        """A power of two for what products of queries and keys lie near; 0 where the case does not ask for any."""
        sign = {"low": -1.0, "high": 1.0, "apart": 1.0}.get(str(self.options.get("scores")), 0.0)
        offsets = OFFSETS.get(self.dtype, OFFSETS["float32"][:1])
        root = 2.0 ** int(np.ceil(np.log2(max(self.sizes.get("d", 1), 1)) / 2))
        return sign * root * offsets[int(self.rng("offset").integers(len(offsets)))] if sign else 0.0

    def _replace_first_feature(self, drawn: NDArray, first: float, width: int, *, apart: bool = False) -> NDArray:
        """The numbers, the first feature of every head replaced where there is something to replace it by.

        Where heads and rows are to lie apart, it has either sign.
        """
        if first:
            heads = drawn[..., :: width or self.sizes.get("d", drawn.shape[-1])]
            signs = self.rng("signs").choice([-1.0, 1.0], size=heads.shape) if apart else 1.0
            heads[...] = first * signs
        return drawn

    def values(self, purpose: str, *shape: int) -> NDArray:
        """Drawn numbers of a shape, exact in the case's dtype."""
        drawn = self.rng(purpose).standard_normal(shape)
        if self.plain == 1:
            drawn = np.rint(2 * drawn)
        if self.plain == 2:
            drawn = (drawn > 0).astype(float)
        return np.asarray(round_to(drawn, self.dtype)).reshape(shape)

    def with_(self, **changes: Any) -> ParameterCase:
        """A copy with some sizes (by name) or fields changed."""
        own = {k: v for k, v in changes.items() if k in self.__dataclass_fields__}
        sizes = {k: v for k, v in changes.items() if k not in own}
        return replace(self, **{"sizes": {**self.sizes, **sizes}, **own})

    def named_sizes(self) -> list[dict[str, int]]:
        """The sizes that a condition speaks of (see the function of the same name)."""
        return named_sizes(self.sizes)

    def describe(self) -> str:
        """The case in one line."""
        parts = [f"{k}={v}" for k, v in {**self.sizes, **self.options}.items() if v is not None]
        return f"{self.dtype} {' '.join(parts)}"

    def smaller(self) -> Iterator[ParameterCase]:
        """Cases of smaller sizes."""
        for name, value in self.sizes.items():
            low = self.minimum.get(name, 1)
            for smaller in dict.fromkeys((low, low + 1, (low + value) // 2, value - 1)):
                if low <= smaller < value:
                    yield self.with_(**{name: smaller})

    def simpler(self) -> Iterator[ParameterCase]:
        """The same cases in an order of their own; every size says as much about the cause."""
        return self.smaller()

    def plainer(self) -> Iterator[ParameterCase]:
        """Cases of the same sizes with plainer numbers."""
        for plain in (2, 1):
            if plain > self.plain:  # where the numbers drawn hide the fault, others may show it
                yield from (replace(self, plain=plain, seed=seed) for seed in (self.seed, 0, 1, 2))

    def to_json(self) -> dict[str, Any]:
        """The case as JSON values."""
        names = ("dtype", "seed", "plain")
        return {
            "type": "parameters", "sizes": dict(self.sizes), "minimum": dict(self.minimum),
            "options": dict(self.options), **{n: getattr(self, n) for n in names},
        }  # fmt: skip

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> ParameterCase:
        """The inverse of `to_json`."""
        return ParameterCase(**{k: v for k, v in data.items() if k != "type"})


def named_sizes(sizes: Mapping[str, int]) -> list[dict[str, int]]:
    """The sizes that a case asks for, by the names of its contract; two sets where its laws ask for two widths.

    Example:
        >>> named_sizes({"n": 3, "half": 4})
        [{'n': 3, 'd': 8}]
    """
    plain = {name: value for name, value in sizes.items() if name not in ("half", "start", "shift", "group", "more")}
    if "most" in sizes:  # of texts whose lengths are not drawn yet
        plain |= {"n_q": plain["most"], "n_kv": plain.pop("most"), "B": 1}
    if "group" in sizes:
        plain["H"] = sizes["H_kv"] * sizes["group"]
    if "H" in plain and "d" in plain:
        plain |= {"E": plain["H"] * plain["d"] + sizes.get("more", 0), "H_kv": plain.get("H_kv", plain["H"])}
    if "half" not in sizes:
        return [plain]
    paired = {**plain, "d": 2 * sizes["half"]}
    return [plain, paired] if "d" in plain else [paired]


def supports(implementation: Implementation, case: ParameterCase) -> bool:
    """Whether a case lies within the sizes that are declared."""
    condition = implementation.sizes
    return condition is None or all(condition(**sizes) for sizes in case.named_sizes())


def choose_sizes(
    implementation: Implementation, case: ParameterCase, choices: Iterable[Mapping[str, int]], rng: np.random.Generator
) -> ParameterCase:
    """The case at one of several sizes that a law sets itself, drawn from those that are declared.

    Raises:
        NotApplicable: none of them is.
    """
    found = [one for one in (case.with_(**sizes) for sizes in choices) if supports(implementation, one)]
    if not found:
        raise NotApplicable(UNDECLARED_SIZES)
    return found[int(rng.integers(len(found)))]


def require_sizes(implementation: Implementation, *cases: ParameterCase) -> None:
    """Leave a case out where it leads to further calls, of `cases`, whose sizes are not declared.

    Raises:
        NotApplicable: one of them lies beyond the declared sizes.
    """
    if not all(supports(implementation, case) for case in cases):
        raise NotApplicable(UNDECLARED_SIZES)


def narrow_then_wide(
    implementation: Implementation, rng: np.random.Generator, among: tuple[str, ...] | None = None
) -> tuple[str, str] | None:
    """Two declared dtypes, `among` some where these are named, the less precise one first; None without two.

    Numbers that are kept in the first one have lost what the second can tell apart.
    """
    declared = [dtype for dtype in NARROW_FIRST if dtype in implementation.dtypes and dtype in (among or NARROW_FIRST)]
    if len(declared) < 2:
        return None
    wide = [dtype for dtype in declared[1:] if dtype in WIDE] or declared[-1:]
    second = str(rng.choice(wide))
    return str(rng.choice(declared[: declared.index(second)])), second


def find_nearest_sizes(implementation: Implementation, case: ParameterCase) -> ParameterCase | None:
    """The case, or the first with some of its sizes replaced by usual larger ones that are declared; None without.

    Values that are as wide as keys stay so where that can be: a target of one head size does not get two.
    """
    names = [name for name in select_sizes(implementation.sizes, case.sizes) if name not in ("start", "shift")]
    alike = case.sizes.get("d") == case.sizes.get("d_v", -1)
    for chosen in ([name for name in names if name != "d_v"], names) if alike else (names,):
        for values in product(*((case[name], *WIDER) for name in chosen)):
            sizes = dict(zip(chosen, values, strict=True))
            other = case.with_(**(sizes if "d_v" in chosen or not alike else {**sizes, "d_v": sizes["d"]}))
            if supports(implementation, other):
                return other
    return None


def select_sizes(condition: Any, sizes: Mapping[str, int]) -> list[str]:
    """The sizes that change what a condition speaks of; all of them where it is a function.

    Example:
        >>> from attention_core.declaration.sizes import SizeCondition
        >>> select_sizes(SizeCondition("E == 64 and H == 4"), {"B": 1, "n": 3, "H": 2, "d": 8})
        ['H', 'd']
    """
    if not isinstance(condition, SizeCondition):
        return list(sizes)
    spoken = {node.id for node in ast.walk(condition.tree) if isinstance(node, ast.Name)}

    def select(changed: Mapping[str, int]) -> list[dict[str, int]]:
        return [{name: size for name, size in one.items() if name in spoken} for one in named_sizes(changed)]

    own = select(sizes)
    return [name for name, size in sizes.items() if select({**sizes, name: size + 1}) != own]


class ParameterSubject(SubjectBase):
    """What laws of these contracts hold in their hands: the target, called with plain values and arrays."""

    shares_key_heads: bool | None = None
    """Whether key heads can be shared among query heads, of contracts where that is tried; None before."""

    def __init__(
        self, runner: Runner, implementation: Implementation, description: Mapping[str, Any], seed: int = 0
    ) -> None:
        if not description["callable"] and implementation.contract != "heads":
            raise TargetError(f"{implementation.name} is not callable (it is of type {description['type']})")
        if description.get("is_class") and implementation.contract in FUNCTIONS:
            raise TargetError(f"{implementation.name} is a class: {advise_on_class(description)}")
        if description.get("lacks") and implementation.contract == "heads":
            lacks = " and no ".join(description["lacks"])
            raise TargetError(
                f"{implementation.name} has no {lacks}: name a pair, path/to/file.py:split,merge, or an object "
                "that has both (or split_heads and merge_heads)"
            )
        super().__init__(runner, implementation, seed)
        self.description = description

    def take_one_step(self, case: ParameterCase) -> None:
        """Let a new object take the first step of a case; raises where the target cannot."""
        raise NotImplementedError

    def takes_fewer_key_heads(self, case: ParameterCase) -> bool:
        """Whether a step of four query heads and two key heads gives an output of four heads; tried once."""
        if self.shares_key_heads is None:
            self.shares_key_heads = False
            case = case.with_(H_kv=2, group=2)
            if not supports(self.implementation, case):
                return False
            with suppress(NotApplicable, Refused, Violation):
                self.take_one_step(case)
                self.shares_key_heads = True
        return self.shares_key_heads

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What is declared of the target beside its conventions (kind, pairing, base, ...)."""
        return self.implementation.parameters

    def adapt_case(self, case: ParameterCase) -> ParameterCase:
        """The case, at sizes that the target's form allows."""
        return case

    def names(self) -> list[str] | None:
        """Parameter names of the target; None when its signature cannot be read."""
        found = self.description["parameters"]
        return None if found is None else [p["name"] for p in found]

    def find_name(self, *candidates: str) -> str | None:
        """The first of some spellings of a parameter that the target has."""
        known = self.names() or []
        return next((c for c in candidates if c in known), None)

    def send(self, request: Request) -> Response:
        """One request; refusals raise `Refused`, anything else that is wrong a `Violation`."""
        self.calls += 1
        response = self.runner.run(request)
        self.lost += LOST.get(response.status, 0)
        if response.status == "ok" and response.mutated:
            changed = ", ".join(self._argument_name(name) for name in response.mutated)
            raise Violation(
                f"the call changed its argument {changed}, but should leave arguments as they are",
                Evidence((Shown(request),), kind="mutated"),
            )
        return check_response(response, request, self.implementation.declines)

    def _argument_name(self, name: str) -> str:
        known = self.names() or []
        return known[int(name)] if name.isdigit() and int(name) < len(known) else name

    def fresh_instance(self) -> int:
        """A new number under which a built object is kept (see `Request.instance`).

        New in the whole process: several subjects, as of a first look and of the laws after it, share a worker.
        """
        return next(NUMBERS)

    def call(self, *args: Any, dtype: str = "float32", shape: tuple[int, ...] | None = None, **kwargs: Any) -> Result:
        """The first result of one call; arrays among the arguments travel in `dtype` (bool and integers as they are).

        Fields of `Request` (`method`, `instance`, `mode`, `seed`, `wrt`, `cotangent`, ...) may be given by name with a
        trailing underscore (`method_="split"`). `shape` is checked when given.
        """
        return self.result(self.request(*args, dtype=dtype, **kwargs), shape)

    def request(self, *args: Any, dtype: str = "float32", **kwargs: Any) -> Request:
        """The request of a call (see `call`)."""
        fields = {k[:-1]: v for k, v in kwargs.items() if k.endswith("_")}
        plain = {k: v for k, v in kwargs.items() if not k.endswith("_")} | dict(self.implementation.arguments)
        built = tuple(as_argument(a, dtype) for a in args)
        return Request(built, {k: as_argument(v, dtype) for k, v in plain.items()}, **fields)

    def result(self, request: Request, shape: tuple[int, ...] | None = None, number: int = 0) -> Result:
        """One result of a request, its shape checked."""
        response = self.send(request)
        value = response.outputs[number]
        quantity = "out" if number == 0 else f"out{number}"
        if shape is not None and value.shape != shape:
            raise Violation(
                f"got shape {value.shape}, but should be {shape}", Evidence((Shown(request, quantity),), kind="shape")
            )
        found = Result(value.values.astype(np.float64), request, quantity)
        found.extra = {"dtype": value.dtype, "response": response}
        return found

    def gradient_of(self, *args: Any, dtype: str, **kwargs: Any) -> Result:
        """The gradient of the first argument for `cotangent_`, as `call`; a result without a graph is a violation."""
        request = self.request(*args, dtype=dtype, wrt_=("0",), **kwargs)
        response, crash = self.send(request), Evidence((Shown(request),), kind="crash")
        if not response.has_graph:
            raise Violation(
                "the result carries no gradient although the input asks for one (if it is forward only, declare "
                "--no-gradients, in Python gradients=False)", crash,
            )  # fmt: skip
        found, quantity = response.gradients.get("0"), "grad:0"
        values = np.zeros(np.shape(args[0])) if found is None else found.values.astype(np.float64)
        if values.shape != np.shape(args[0]):
            raise Violation(f"gradient: got shape {values.shape}, but should be {np.shape(args[0])}", crash)
        return Result(values, request, quantity)


@contextmanager
def after(earlier: Iterable[Result]) -> Iterator[None]:
    """Violations raised inside show the earlier calls as well: without them the failure may not come about."""
    try:
        yield
    except Violation as violation:
        before = tuple(Shown(r.request, declined=bool(r.extra.get("declined"))) for r in earlier)
        raise Violation(violation.message, replace(violation.evidence, before=before)) from None


def require_same_later(
    got: Result, first: Result, between: Iterable[Result], bound: NDArray | float, what: str
) -> None:
    """`require_same` with an earlier call, where order matters: the counterexample makes the earlier one first."""
    try:
        require_same(got, first, bound, what)
    except Violation as violation:
        later, earlier = violation.evidence.calls
        before = (earlier, *(Shown(result.request) for result in between))
        raise Violation(violation.message, replace(violation.evidence, calls=(later,), before=before)) from None


def as_argument(value: Any, dtype: str) -> Any:
    """NumPy arrays as request arrays, everything else unchanged."""
    if isinstance(value, np.ndarray):
        name = "bool" if value.dtype == bool else "int64" if value.dtype.kind in "iu" else dtype
        return array(value, name)
    return value


@dataclass(frozen=True)
class Sizes:
    """Which parameter cases a law wants: a range for every size, and options to choose from.

    Args:
        ranges: size -> (smallest, largest).
        options: option -> values to choose from.
        adjust: `(sizes, rng) -> sizes` to impose relations between sizes, or None.
        related: whether sizes stand in the relation that `adjust` imposes; shrinking keeps to it.
        dtypes: restrict to these among the declared ones.
        near: the written size around which a case is drawn, or None.
    """

    ranges: Mapping[str, tuple[int, int]]
    options: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    adjust: Callable[[dict[str, int], np.random.Generator], dict[str, int]] | None = None
    related: Callable[[Mapping[str, int]], bool] = lambda sizes: True
    dtypes: tuple[str, ...] | None = None
    near: Near | None = None

    def contains(self, case: ParameterCase) -> bool:
        """Whether a case of other sizes still belongs here."""
        return self.related(case.sizes)


def as_in_models(
    ranges: Mapping[str, tuple[int, int]],
    adjust: Callable[[dict[str, int], np.random.Generator], dict[str, int]] | None = None,
    share: float = 0.25,
) -> Callable[[dict[str, int], np.random.Generator], dict[str, int]]:
    """Return an `adjust` that draws a share of the cases at sizes as models have them, all of them at once.

    Small sizes are read and shrunk best, and hide what starts at a head size above 64, a text longer than a table of
    masks, or more heads than slopes are a power of two for.

    Args:
        ranges: size -> (smallest, largest) in such a case; sizes that are left out stay as they were drawn.
        adjust: what the other cases are put through.
        share: of all cases. With 16 cases at quick, one run in a hundred has none.

    Example:
        >>> as_in_models({"d": (128, 128)}, share=1.0)({"n": 3, "d": 2}, np.random.default_rng(0))
        {'n': 3, 'd': 128}
    """

    def draw(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
        if rng.random() < share:
            return {**sizes, **{name: int(rng.integers(low, high + 1)) for name, (low, high) in ranges.items()}}
        return sizes if adjust is None else adjust(sizes, rng)

    return draw


def draw_parameters(subject: ParameterSubject, space: Sizes, rng: np.random.Generator) -> ParameterCase | None:
    """One case of a space and of the declared sizes: half of the time small sizes, half of the time anywhere.

    Where the law's own range holds no declared size, usual larger ones are taken.
    """
    declared = subject.implementation.dtypes
    dtypes = [d for d in space.dtypes or declared if d in declared]
    if not dtypes:
        return None
    if space.near is not None:
        return _draw_near(subject, space, space.near, dtypes, rng)
    case = subject.adapt_case(_draw_case(space, dtypes, rng))
    for _ in range(TRIES):
        if supports(subject.implementation, case):
            return case
        case = subject.adapt_case(_draw_case(space, dtypes, rng))
    near = find_nearest_sizes(subject.implementation, case)
    return near if near is not None and space.contains(near) else None


def _draw_near(
    subject: ParameterSubject, space: Sizes, near: Near, dtypes: list[str], rng: np.random.Generator
) -> ParameterCase | None:
    """One case of small sizes, some of which are near a written one; None where no such case is declared and cheap."""
    wide = [dtype for dtype in WIDE if dtype in dtypes] or dtypes
    for trial in range(TRIES_NEAR):
        plain = _draw_case(space, wide if rng.random() < WIDE_SHARE else dtypes, rng)
        sizes = sizes_near(space.ranges, near, rng, first=not trial)
        options = options_near(space.options, plain.options, near, rng)
        if sizes is None or options is None:
            return None
        sizes = complete_sizes(small_sizes(space.ranges, rng), sizes, rng, space.adjust)
        if work_of(sizes) > MOST_WORK or not space.contains(plain.with_(**sizes)):
            continue
        case = subject.adapt_case(replace(plain, sizes=sizes, options=options))
        if supports(subject.implementation, case):
            return case
    return None


def _draw_case(space: Sizes, dtypes: list[str], rng: np.random.Generator) -> ParameterCase:
    """One case of a space, whatever sizes are declared."""
    small = rng.random() < 0.5
    sizes = {}
    for name, (low, high) in space.ranges.items():
        top = min(high, low + 4) if small else high
        sizes[name] = int(rng.integers(low, top + 1))
    if space.adjust is not None:
        sizes = space.adjust(sizes, rng)
    options = {name: values[int(rng.integers(len(values)))] for name, values in space.options.items()}
    minimum = {name: low for name, (low, _) in space.ranges.items()}
    return ParameterCase(sizes, minimum, options, str(rng.choice(dtypes)), int(rng.integers(2**31)))


def allows_parameters(subject: ParameterSubject, space: Sizes, case: ParameterCase) -> bool:
    """Whether a shrunk case is allowed."""
    return space.contains(case) and supports(subject.implementation, case)


def restrict_parameters(subject: ParameterSubject, law: Law) -> Sizes | None:
    """The law's space; None when no declared dtype, or no declared size, lies in it."""
    space: Sizes = law.space
    declared = subject.implementation.dtypes
    if subject.implementation.sizes is not None and draw_parameters(subject, space, np.random.default_rng(0)) is None:
        return None
    return space if any(d in declared for d in space.dtypes or declared) else None

"""Functions that choose the keys of a query: how they are called, the scores of a case and how far these may be off.

Scores are given, (B, n_q, n_kv), or made of queries (B, n_q, H, d), keys (B, n_kv, d) and weights of heads (B, n_q, H)
as DeepSeek's lightning indexer does: s_ij = sum_h w_ih max(q_ih . k_j, 0). What comes back are indices (B, n_q, topk).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from attention_core import oracle
from attention_core.conformance.budgets.error_rows import float_format, gamma
from attention_core.conformance.budgets.indexer_bound import score_errors
from attention_core.conformance.subjects.axes import Arrangement
from attention_core.conformance.subjects.evidence import Evidence, Shown, Violation
from attention_core.conformance.subjects.parameter_case import ParameterCase, ParameterSubject
from attention_core.conformance.worker.exchange import NDArray, Request, Response, array
from attention_core.conformance.worker.runner import Runner
from attention_core.declaration.implementation import Implementation, TargetError

ROLES: Mapping[str, str] = {
    name: role
    for role, names in {
        "topk": "topk top_k index_topk num_topk n_select num_selected",
        "weights": "weights head_weights w index_weights weight",
        "causal": "causal is_causal",
        "scale": "softmax_scale scale sm_scale scaling index_scale",
        "lengths": "lengths seq_lens seqlens seq_lens_k kv_lengths key_lengths cache_seqlens lens",
        "starts": "ks cu_seqlen_ks row_starts starts",
        "ends": "ke cu_seqlen_ke row_ends ends",
    }.items()
    for name in names.split()
}
"""A parameter's name -> what it is."""
KEYS = ("k", "key", "keys", "kv", "K", "index_k", "k_index", "k_idx")
"""Names of the second parameter of a function that makes the scores itself."""
COUNT = "k"
"""What a function of scores may call the number of keys, as torch.topk does."""
PADDING = -1
"""What stands after the keys of a row that has fewer of them."""
WHOLE = ("int64", "int32", "int16", "uint8")


def read_form(parameters: list[dict[str, Any]] | None, declared: str | None) -> str:
    """What a target is given: "scores", or "heads" for queries, keys and weights of heads.

    Example:
        >>> read_form([{"name": n} for n in "q k weights topk".split()], None)
        'heads'
    """
    if declared is not None:
        return "heads" if declared == "made" else "scores"
    names = [p["name"] for p in parameters or ()]
    return "heads" if names[1:2] and names[1] in KEYS and names[2:] else "scores"


def read_roles(parameters: list[dict[str, Any]] | None, bound: Iterable[str], form: str) -> dict[str, str]:
    """Role -> the target's own name of it, of all parameters behind scores, or behind queries and keys.

    Args: parameters: of the target, None where its signature cannot be read; bound: those with a value otherwise.

    Raises:
        TargetError: a parameter without a default whose meaning is not known, or no weights of heads.

    Example:
        >>> read_roles([{"name": n, "kind": "", "default": False} for n in ("scores", "k")], (), "scores")
        {'topk': 'k'}
    """
    if parameters is None:
        return {"weights": "weights", "topk": "topk"} if form == "heads" else {"topk": "topk"}
    named = [p for p in parameters if not p["kind"].startswith("VAR")][1 + (form == "heads") :]
    names = {name: role for name, role in ROLES.items() if form == "heads" or role != "weights"}
    names |= {COUNT: "topk"} if form == "scores" else {}
    roles: dict[str, str] = {}
    for p in named:
        if p["name"] in bound:
            continue
        if p["name"] in names:
            roles.setdefault(names[p["name"]], p["name"])
        elif not p["default"]:
            raise TargetError(
                f"what the parameter {p['name']} is given is not known: name it as its library does (such as weights, "
                f"topk, causal, lengths), or fix it with --arg {p['name']}=VALUE"
            )
    if form == "heads" and "weights" not in roles:
        raise TargetError("no parameter says how heads are weighed: name it weights, or give a function of scores")
    return roles


@dataclass(frozen=True, eq=False)
class IndexerCall:
    """What a call is given.

    Args:
        scores: (B, R, n_q, n_kv), with R 1 or a number of heads; None where the target makes them.
        query, key, weights: (B, n_q, H, d), (B, n_kv, d) and (B, n_q, H); None where scores are given.
        topk: keys of a row. causal: later keys are not chosen. scale: of the scores, None where it is not given.
        starts, ends: of the keys that a row may have, (B, n_q); None for all.
    """

    topk: int
    scores: NDArray | None = None
    query: NDArray | None = None
    key: NDArray | None = None
    weights: NDArray | None = None
    causal: bool = False
    scale: float | None = None
    starts: NDArray | None = None
    ends: NDArray | None = None

    def with_(self, **changes: Any) -> IndexerCall:
        """A copy with some fields changed."""
        return replace(self, **changes)

    @property
    def lengths(self) -> tuple[int, int]:
        """(n_q, n_kv)."""
        if self.scores is not None:
            return self.scores.shape[2], self.scores.shape[3]
        assert self.query is not None and self.key is not None
        return self.query.shape[1], self.key.shape[1]


@dataclass(frozen=True, eq=False)
class Judged:
    """True scores and how far a computed one may be off, the keys that may be chosen, and how many are.

    Args: scores, errors, allowed: (B, R, n_q, n_kv). count: (B, R, n_q). dtype: of the call.
    """

    scores: NDArray
    errors: NDArray
    allowed: NDArray
    count: NDArray
    dtype: str


@dataclass(frozen=True, eq=False)
class Choice:
    """The indices of a call (B, R, n_q, K), and how a program reads those of a row."""

    indices: NDArray
    request: Request
    axes: Arrangement
    number: int = 0

    def row(self, at: tuple[int, ...]) -> str:
        """The text of a row's indices, of what the call gives."""
        own = ", ".join(str(int(i)) for i in self.axes.place((*at, 0))[:-1])
        whole = "{out}" if self.number == 0 else f"{{out}}[{self.number}]"
        return f"{whole}[{own}]" if own else whole

    @property
    def quantity(self) -> str:
        """The name of the result that holds the indices."""
        return "out" if self.number == 0 else f"out{self.number}"

    def element(self, at: tuple[int, ...], got: int, want: int, message: str) -> Violation:
        """The violation for an index that should be another."""
        shown = Shown(self.request, self.quantity, tuple(int(i) for i in self.axes.place(at)))
        return Violation(message, Evidence((shown,), float(got), float(want), 0.0))

    def count(self, at: tuple[int, ...], test: str, got: int, want: int, message: str) -> Violation:
        """The violation for a row in which another number of indices than it should be pass a test such as "== 3"."""
        shown = Shown(self.request, self.quantity, (0,), f"float(({self.row(at)} {test}).sum())")
        return Violation(message, Evidence((shown,), float(got), float(want), 0.0))


def choose(judged: Judged, topk: int, scores: NDArray | None = None, allowed: NDArray | None = None) -> NDArray:
    """The keys of the highest scores, bool (B, R, n_q, n_kv): the true ones, or others, among some keys."""
    scores = judged.scores if scores is None else np.broadcast_to(scores, judged.scores.shape)
    allowed = judged.allowed if allowed is None else np.broadcast_to(allowed, judged.scores.shape)
    order = np.argsort(np.where(allowed, -scores, np.inf), axis=-1, kind="stable")
    chosen = np.zeros(scores.shape, dtype=bool)
    np.put_along_axis(chosen, order[..., :topk], True, axis=-1)
    return np.asarray(chosen & allowed)


class IndexerSubject(ParameterSubject):
    """A function that chooses keys."""

    def __init__(
        self, runner: Runner, implementation: Implementation, description: Mapping[str, Any], seed: int = 0
    ) -> None:
        super().__init__(runner, implementation, description, seed)
        parameters = description["parameters"]
        form = read_form(parameters, self.parameters.get("scores"))
        self.makes_scores = form == "heads"
        self.roles = read_roles(parameters, implementation.arguments, form)
        self.tokens = str(self.parameters.get("tokens", "bnhd"))
        own = self.tokens.replace("n", "q").replace("h", "").replace("d", "k")
        self.axes = str(self.parameters.get("score_axes", own if self.makes_scores else "bqk"))
        self.padding = str(self.parameters.get("padding", "minus_one"))
        fixed = self.fixed_topk()
        if "topk" not in self.roles and fixed is None:
            raise TargetError("nothing says how many keys are chosen: name a parameter topk, or --parameter topk=N")

    def fixed_topk(self) -> int | None:
        """How many keys every call chooses, where that is declared; None where a parameter says it."""
        given = [v for n, v in self.implementation.arguments.items() if n == COUNT or ROLES.get(n) == "topk"]
        found = given[0] if given else self.parameters.get("topk")
        return None if found is None else int(found)

    @property
    def heads(self) -> bool:
        """Whether rows of scores are those of heads."""
        return "h" in self.axes

    @property
    def batched(self) -> bool:
        """Whether there is an axis of sequences."""
        return "b" in self.axes

    @property
    def bounds(self) -> bool:
        """Whether a call can say which keys a row may have."""
        return bool(self.roles.keys() & {"lengths", "starts", "ends"})

    # --- cases ------------------------------------------------------------------------------------------

    def adapt_case(self, case: ParameterCase) -> ParameterCase:
        """The case with one sequence where the target takes no more, and so many keys of a row as it always gives."""
        changes: dict[str, int] = {} if self.batched else {"B": 1}
        if not self.makes_scores and not self.heads:
            changes |= {"H": 1}
        fixed = self.fixed_topk()
        if fixed is not None:
            changes |= {"topk": fixed, "n_kv": max(case["n_kv"], fixed)}
        changes = {name: size for name, size in changes.items() if case[name] != size}
        minimum = {**case.minimum, **{name: size for name, size in changes.items() if name != "H"}}
        return case.with_(**changes, minimum=minimum) if changes else case

    def draw(self, case: ParameterCase, turn: str = "") -> IndexerCall:
        """The call of a case; another `turn` draws other numbers.

        Options: "causal", "ends" for keys that end early, "equal" and "negative" scores.
        """
        B, H, n_q, n_kv, d = (case[name] for name in ("B", "H", "n_q", "n_kv", "d"))
        options, scale = case.options, None
        if "scale" in self.roles:
            scale = float(case.rng("scale").choice([d**-0.5, 0.3, 2.0]))
        call = IndexerCall(case["topk"], causal=self.is_causal(case), scale=scale)
        if not self.makes_scores:
            scores = case.values(f"scores{turn}", B, H if self.heads else 1, n_q, n_kv)
            scores = -np.abs(scores) if options.get("scores") == "negative" else scores
            scores = (
                np.broadcast_to(scores[..., :1], scores.shape).copy() if options.get("scores") == "equal" else scores
            )
            call = call.with_(scores=scores)
        else:
            key, weights = case.values(f"key{turn}", B, n_kv, d), case.values(f"weights{turn}", B, n_q, H)
            weights = -np.abs(weights) if options.get("scores") == "negative" else weights
            key = np.broadcast_to(key[:, :1], key.shape).copy() if options.get("scores") == "equal" else key
            call = call.with_(query=case.values(f"query{turn}", B, n_q, H, d), key=key, weights=weights)
        return self._with_ends(case, call) if options.get("ends") and self.bounds else call

    def _with_ends(self, case: ParameterCase, call: IndexerCall) -> IndexerCall:
        """The call with drawn ends of keys, those of a sequence where the target takes its length; no causality."""
        (n_q, n_kv), B, rng = call.lengths, case["B"], case.rng("ends")
        ends = rng.integers(1, n_kv + 1, size=(B, n_q))
        if "lengths" in self.roles and self.batched:
            ends = np.broadcast_to(ends[:, :1], ends.shape)
        starts = None
        if "starts" in self.roles:
            starts = np.minimum(rng.integers(0, n_kv, size=(B, n_q)), ends - 1)
        if "ends" not in self.roles and "lengths" not in self.roles:
            ends = np.full((B, n_q), n_kv)
        return call.with_(starts=starts, ends=ends, causal=False if "causal" in self.roles else call.causal)

    def is_causal(self, case: ParameterCase) -> bool:
        """Whether a case's call is causal."""
        return bool(case.options.get("causal")) if "causal" in self.roles else self.implementation.always_causal

    # --- calls ------------------------------------------------------------------------------------------

    def request_of(self, case: ParameterCase, call: IndexerCall, *, view: str = "contiguous", **extra: Any) -> Request:
        """The request of a call; `extra` are fields of the request, with a trailing underscore."""
        fields = {k[:-1]: v for k, v in extra.items()}
        (n_q, n_kv), B = call.lengths, case["B"]
        values: dict[str, Any] = {"topk": call.topk, "scale": call.scale, "causal": call.causal}
        if not call.causal and not self._needs("causal"):
            del values["causal"]
        rows = "bq" if self.batched else "q"
        for role, drawn, usual in (("starts", call.starts, 0), ("ends", call.ends, n_kv), ("lengths", call.ends, n_kv)):
            if drawn is None and not self._needs(role):
                continue
            full = np.full((B, n_q), usual) if drawn is None else drawn
            if role == "lengths" and self.batched:
                values[role] = array(np.ascontiguousarray(full[:, 0]), "int32")
            else:
                values[role] = array(np.ascontiguousarray(Arrangement("bq", rows).to_target(full)), "int32")
        inputs = self._inputs(call)
        args = tuple(array(x, case.dtype, view) for x in inputs[:2])
        if len(inputs) == 3:
            values["weights"] = array(np.ascontiguousarray(inputs[2]), case.dtype)
        if self.description["parameters"] is None:
            more = [values[role] for role in ("weights", "topk") if role in values and role in self.roles]
            return Request((*args, *more), dict(self.implementation.arguments), loose=True, **fields)
        given = {self.roles[role]: value for role, value in values.items() if role in self.roles}
        return Request(args, {**given, **self.implementation.arguments}, loose=True, **fields)

    def _inputs(self, call: IndexerCall) -> list[NDArray]:
        """Scores, or queries, keys and weights, in the target's axes."""
        if call.scores is not None:
            return [Arrangement("bhqk", self.axes).to_target(call.scores)]
        assert call.query is not None and call.key is not None and call.weights is not None
        return [
            Arrangement("bnhd", self.tokens).to_target(call.query),
            Arrangement("bnd", self.tokens.replace("h", "")).to_target(call.key),
            Arrangement("bnh", self.tokens.replace("d", "")).to_target(call.weights),
        ]

    def _needs(self, role: str) -> bool:
        """Whether a parameter has no default, or one that means something of its own (causal=True)."""
        own = self.roles.get(role)
        found = next((p for p in self.description["parameters"] or () if p["name"] == own), None)
        return found is not None and not (found["default"] and found.get("value") in (None, False))

    def attend(self, case: ParameterCase, call: IndexerCall, **how: Any) -> Choice:
        """The indices of a call, under the name by which other contracts ask for an output."""
        return self.choose(case, call, **how)

    def choose(self, case: ParameterCase, call: IndexerCall, **how: Any) -> Choice:
        """The indices of a call: its first result of whole numbers.

        Raises: Violation where there is none, or one of another shape.
        """
        request = self.request_of(case, call, **how)
        return self.read(case, call, request, self.send(request))

    def read(self, case: ParameterCase, call: IndexerCall, request: Request, response: Response) -> Choice:
        """The indices among the results of a call."""
        found = [i for i, value in enumerate(response.outputs) if value.dtype in WHOLE]
        if not found:
            got = response.outputs[0].dtype if response.outputs else "nothing"
            message = f"indices: got {got}, but should be whole numbers"
            raise Violation(message, Evidence((Shown(request, "out"),), kind="shape", event="wrong dtype"))
        value, (n_q, n_kv) = response.outputs[found[0]], call.lengths
        axes, rows = Arrangement("bhqk", self.axes), case["H"] if self.heads and not self.makes_scores else 1
        shapes = [axes.to_target(np.empty((case["B"], rows, n_q, k))).shape for k in (call.topk, min(call.topk, n_kv))]
        if value.shape not in shapes:
            message = f"indices: got shape {value.shape}, but should be {shapes[0]}"
            raise Violation(message, Evidence((Shown(request, "out"),), kind="shape", event="wrong shape"))
        indices = axes.from_target(value.values.astype(np.int64))
        return Choice(indices, request, axes, found[0])

    # --- truth ------------------------------------------------------------------------------------------

    def judge(self, case: ParameterCase, call: IndexerCall) -> Judged:
        """True scores with their errors, and the keys of each row."""
        if call.scores is not None:
            scores, errors = call.scores, np.zeros(call.scores.shape)
            if call.scale is not None:  # one of them is rounded, which may make two of them equal
                errors = gamma(2, float_format(case.dtype, self.implementation.accumulate).w) * np.abs(scores)
        else:
            assert call.query is not None and call.key is not None and call.weights is not None
            scale = 1.0 if call.scale is None else call.scale
            inputs = (scale * call.query, call.key, call.weights)
            scores = true_scores(*inputs)
            errors = score_errors(*inputs, dtype=case.dtype, accumulate=self.implementation.accumulate)
            scores, errors = scores[:, None], errors[:, None]
        allowed = np.broadcast_to(self.allow(call), scores.shape)
        return Judged(scores, errors, allowed, np.minimum(allowed.sum(-1), call.topk), case.dtype)

    def allow(self, call: IndexerCall) -> NDArray:
        """The keys that the rows of a call may have, bool (B or 1, 1, n_q, n_kv)."""
        n_q, n_kv = call.lengths
        keys = np.arange(n_kv)
        allowed = np.ones((1, 1, n_q, n_kv), dtype=bool)
        if call.causal:
            allowed = allowed & oracle.causal_mask(n_q, n_kv, self.implementation.causal)
        if call.ends is not None:
            allowed = allowed & (keys < call.ends[:, None, :, None])
        if call.starts is not None:
            allowed = allowed & (keys >= call.starts[:, None, :, None])
        return allowed


def true_scores(query: NDArray, key: NDArray, weights: NDArray) -> NDArray:
    """s_ij = sum_h w_ih max(q_ih . k_j, 0), (B, n_q, n_kv).

    Example:
        >>> true_scores(np.ones((1, 1, 2, 1)), np.array([[[3.0], [-3.0]]]), np.array([[[1.0, -2.0]]])).tolist()
        [[[-3.0, 0.0]]]
    """
    products = np.einsum("bqhd,bkd->bqhk", query, key)
    return np.asarray(np.einsum("bqh,bqhk->bqk", weights, np.maximum(products, 0.0)))

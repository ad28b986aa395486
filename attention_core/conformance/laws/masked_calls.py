"""What laws share whose calls choose the keys of a query: whether a case can fail, and a result against its truth."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from attention_core.conformance.cases.null_models import SEPARATION
from attention_core.conformance.subjects.axes import put_heads_in_order
from attention_core.conformance.subjects.evidence import NotApplicable, Result, require_close
from attention_core.conformance.subjects.masked_subject import Judged, MaskedSubject
from attention_core.conformance.subjects.parameter_case import ParameterCase, as_argument
from attention_core.conformance.worker.exchange import NDArray

NOISE = 1e-9
"""What rounding alone moves a float64 output by, generously: a null model below it is none of the case."""
VIEWS = ("contiguous", "transposed", "heads_last", "heads_chunk", "sliced", "padded", "offset")
"""How query, key and value may lie in memory."""
FAR = {"float64": 1000.0}
"""What queries are multiplied by so that exponentials of their scores overflow: 100, and more in float64."""
ALIKE = ("one_row", "broadcast")
"""Views that have one row in memory, which stands for all."""
CHOICE_VIEWS = ("transposed", "padded", "sliced", *ALIKE)
"""How what chooses the keys may lie in memory."""


def draw_views(case: ParameterCase) -> tuple[str, str]:
    """Draw how query, key and value lie in memory, and how what chooses the keys does."""
    rng = case.rng("view")
    shares = [1.0] * (len(CHOICE_VIEWS) - len(ALIKE)) + [2.0, 1.0]
    return str(rng.choice(VIEWS)), str(rng.choice(CHOICE_VIEWS, p=np.array(shares) / sum(shares)))


def repeat_rows(choice: NDArray, view: str) -> NDArray:
    """What chooses the keys, its first row in the place of all where a view has one row of it in memory.

    Example:
        >>> repeat_rows(np.array([[1, 2], [3, 4]]), "one_row").tolist(), repeat_rows(np.eye(2), "padded").tolist()
        ([[1, 2], [1, 2]], [[1.0, 0.0], [0.0, 1.0]])
    """
    if view not in ALIKE:
        return choice
    return np.broadcast_to(choice.reshape(-1, choice.shape[-1])[0], choice.shape).copy()


def factor_of_far(case: ParameterCase) -> float:
    """What queries of a case of far scores are multiplied by: nothing where all of them lie far on one side."""
    return FAR.get(case.dtype, 100.0) if case.options.get("scores") == "far" else 1.0


def wrong_scales(subject: MaskedSubject, call: Any, mask: NDArray) -> dict[str, NDArray]:
    """Outputs of a call that reads a scale it is given wrongly, by what is wrong; none where it is given none."""
    if call.scale is None:
        return {}
    usual = subject.scale(call.with_(scale=None))
    scales = {"scale ignored": usual, "scaled twice": usual * call.scale}
    return {name: subject.truth(call.with_(scale=scale), mask).out for name, scale in scales.items()}


def count_power(subject: MaskedSubject, law: str, nulls: Mapping[str, NDArray], judged: Any) -> None:
    """Note which null models a case could tell from the truth.

    Args: judged: the true `out`, its `bound` and the `rows` to compare.

    Raises: NotApplicable where it could tell none: such a case cannot fail.
    """
    some = False
    for name, out in nulls.items():
        apart = np.where(judged.rows & ~(np.isnan(out) & np.isnan(judged.out)), np.abs(out - judged.out), 0.0)
        separated = bool(((apart > SEPARATION * judged.bound) | np.isnan(apart)).any())
        subject.relevant[law, name] += bool(((apart > NOISE) | np.isnan(apart)).any())
        subject.powers[law, name] += separated
        some |= separated
    if not some:
        raise NotApplicable("no wrong call that is tried would stand out")


def compare(subject: MaskedSubject, case: ParameterCase, out: Result, judged: Any, what: str) -> None:
    """A result against truth and budget."""
    note_ratio(subject, case, "", require_close(out, judged.out, judged.bound, what, where=judged.rows))


def note_ratio(subject: MaskedSubject, case: ParameterCase, of: str, ratio: float) -> None:
    """Note an error over its budget, of the output or `of` the gradient of something."""
    contract = subject.implementation.contract
    key = (case.dtype, f"{of} of {contract}" if of else contract)
    subject.ratios[key] = max(subject.ratios.get(key, 0.0), ratio)


def check_call(
    null_models: Callable[[Any, Any], Mapping[str, NDArray]],
    subject: Any, case: ParameterCase, call: Any, what: str, law: str = "", *,
    about: Collection[str] = (), sent: Any = None, where: NDArray | None = None, **how: Any,
) -> Result:  # fmt: skip
    """One call agrees with the truth; returns its output.

    Args:
        null_models: what a call with one thing wrong gives, by the name of what it gets wrong.
        law: the law whose power is counted, by the null models that it is `about`, all of them where none is named.
        sent: other numbers where they should not matter. where: which rows are compared, (B, 1, n, 1).
    """
    judged = subject.judge(case, call)
    if where is not None:
        judged = replace(judged, rows=judged.rows & where)
    if law:
        nulls = null_models(subject, call)
        count_power(subject, law, {n: out for n, out in nulls.items() if n in about or not about}, judged)
    out: Result = subject.attend(case, sent or call, **how)
    compare(subject, case, out, judged, what)
    return out


def compare_gradients(subject: MaskedSubject, case: ParameterCase, call: Any, judged: Judged) -> None:
    """Gradients of query, key and value against truth and budget.

    Raises: NotApplicable where the output carries no gradient.
    """
    down = case.values("cotangent", *call.query.shape[:3], call.value.shape[3])
    true = subject.gradients(case, call, judged, down)
    order = subject.order(call)
    own = down if order is None else down[:, order]
    sent = as_argument(np.ascontiguousarray(subject.axes(call.query).to_target(own)), case.dtype)
    request = subject.request_of(case, call, wrt_=("0", "1", "2"), cotangent_=sent)
    response = subject.send(request)
    if not response.has_graph:
        raise NotApplicable("it carries no gradient")
    for place, (name, (want, bound)) in enumerate(true.items()):
        got = subject.read_gradient(response.gradients.get(str(place)), str(place), request, want)
        got = put_heads_in_order(got, 1, order if name == "query" else None)
        note_ratio(subject, case, name, require_close(got, want, bound, f"gradient of the {name}"))

"""Laws of the value that relate two calls: what may change without changing the output, or how it follows.

Each is judged by the budgets of both calls and by the truth's own difference on the inputs as rounded.
"""

from __future__ import annotations

import numpy as np

from attention_core.conformance.budgets.budget import HUGE, round_to
from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.space import Space
from attention_core.conformance.laws.derived import require_declared_sizes, require_live, take_keys
from attention_core.conformance.laws.expected import finite_rows, limit
from attention_core.conformance.laws.pairs import same_gradients, same_output
from attention_core.conformance.subjects.evidence import NotApplicable, require_close
from attention_core.conformance.subjects.law import Law, needs
from attention_core.conformance.subjects.subject import Subject
from attention_core.conformance.worker.exchange import NDArray


def a_common_key_vector_cancels(subject: Subject, case: Case) -> None:
    """One vector added to every key changes nothing: it adds the same number to all scores of a row.

    Formula: k'_j = k_j + c for all j implies f(x') = f(x)
    Source: derivations/laws.md (common-key)
    Fault: softmax_plus_one
    """
    shape = (*case.key.shape[:-2], 1, case.key.shape[-1])
    vector = case.rng("vector").integers(-2, 3, size=shape)
    moved = case.with_(key=round_to(case.key + vector, case.dtype))
    same_output(
        subject,
        case,
        moved,
        "output with one vector added to every key",
        where=both_finite_rows(subject, case, moved),
    )


def output_is_affine_in_the_values(subject: Subject, case: Case) -> None:
    """The output is affine in the values: the weights do not depend on them.

    Formula: f(q, k, 2 v - w + 1 c^T) = 2 f(q, k, v) - f(q, k, w) + 1 c^T
    Source: derivations/laws.md (affine)
    Fault: values_clamped
    """
    rng = case.rng("values")
    w = round_to(rng.standard_normal(case.value.shape) * np.exp2(rng.integers(-1, 3)), case.dtype)
    c = rng.integers(-3, 4, size=case.value.shape[-1]).astype(float)
    other = case.with_(value=w)
    both = case.with_(value=round_to(2 * case.value - w + c, case.dtype))
    where = finite_rows(subject, case) & finite_rows(subject, other) & finite_rows(subject, both)
    out = [subject.forward(x).out for x in (case, other, both)]
    truth = [subject.truth(x).out for x in (case, other, both)]
    bound = [limit(subject, x) for x in (case, other, both)]
    with np.errstate(invalid="ignore"):  # infinities of a wrong target
        want = 2 * out[0].values - out[1].values + c
    rounding = np.abs(truth[2] - (2 * truth[0] - truth[1] + c))
    require_close(out[2], want, 2 * bound[0] + bound[1] + bound[2] + rounding, "output for 2 v - w + c", where=where)


def turning_queries_and_keys_together_changes_nothing(subject: Subject, case: Case) -> None:
    """An orthogonal matrix applied to queries and keys alike changes nothing: only inner products count.

    Formula: U^T U = 1 implies f(q U, k U, v) = f(q, k, v)
    Source: derivations/laws.md (turned)
    Fault: last_feature_dropped
    """
    turn = orthogonal(case.query.shape[-1], case.rng("turn"))
    turned = case.with_(query=round_to(case.query @ turn, case.dtype), key=round_to(case.key @ turn, case.dtype))
    same_output(
        subject, case, turned, "output with queries and keys turned", where=both_finite_rows(subject, case, turned)
    )


def doubled_keys_change_nothing(subject: Subject, case: Case) -> None:
    """Every key given twice, with its value and its mask column, changes nothing.

    Formula: f(q, [k; k], [v; v], [b b]) = f(q, k, v, b)
    Source: derivations/laws.md (doubled)
    Fault: length_in_the_scale
    """
    twice = double_keys(subject, case)
    same_output(subject, case, twice, "output with every key doubled", where=both_finite_rows(subject, case, twice))


def gradients_of_doubled_keys_add_up(subject: Subject, case: Case) -> None:
    """The gradients of two copies of a key add up to the gradient of the one, and so do those of its value.

    Formula: dL/dk'_j + dL/dk'_(j+n) = dL/dk_j for [k; k], likewise v
    Source: derivations/laws.md (doubled)
    Fault: late_values_detached
    """
    require_live(subject, case)
    twice = double_keys(subject, case)
    n = case.key.shape[-2]
    joined = lambda a: a[..., :n, :] + a[..., n:, :]  # noqa: E731
    same_gradients(
        subject, twice, case, "doubled keys", cotangent=case.cotangent(), other_cotangent=case.cotangent(),
        moves={"key": joined, "value": joined},
    )  # fmt: skip


def scale_may_move_into_the_query(subject: Subject, case: Case) -> None:
    """A scale is the same as a query scaled by it; None is 1/sqrt(d).

    Formula: f(c q, k, v; s) = f(q, k, v; c s), c a power of two
    Source: derivations/laws.md (scale-moves)
    Fault: scale_ignored
    """
    c = float(case.rng("factor").choice([0.25, 0.5, 2.0, 4.0]))
    if np.abs(case.query).max(initial=0.0) * c > HUGE[case.dtype]:
        raise NotApplicable("the scaled query overflows")
    scale = case.factor
    moved = case.with_(query=round_to(case.query * c, case.dtype), scale=scale / c)
    same_output(
        subject, case, moved, f"output with the query times {c:g} and the scale divided by it",
        where=both_finite_rows(subject, case, moved),
    )  # fmt: skip


def parts_merge_by_log_sum_exp(subject: Subject, case: Case) -> None:
    """Attention over unequal parts of the keys, merged by their log-sum-exps, is attention over all of them.

    Formula: f(x) = sum_a e^(lse_a - lse) f(x_a), lse = log sum_a e^lse_a, over parts a of the keys
    Source: derivations/online_softmax.md (merge-out)
    Fault: lse_base_two
    """
    n_kv = case.key.shape[-2]
    if n_kv < 3:
        raise NotApplicable("two keys have no unequal parts")
    cut = int(case.rng("cut").choice([c for c in range(1, n_kv) if 2 * c != n_kv]))
    parts = [require_declared_sizes(subject, take_keys(case, i)) for i in (np.arange(cut), np.arange(cut, n_kv))]
    alive = [~subject.truth(x).dead for x in parts]
    out, bound, lse, slack = zip(*(_part(subject, x) for x in parts), strict=True)
    # The share of the first part is 1/(1 + e^-x), x = lse_1 - lse_2, known up to the budgets of both.
    with np.errstate(invalid="ignore"):  # infinities of one sign, in rows that are not compared below
        x, e = lse[0] - lse[1], slack[0] + slack[1]
        unsure = np.maximum(_sigmoid(x + e) - _sigmoid(x), _sigmoid(x) - _sigmoid(x - e))
    share = np.where(alive[1], np.where(alive[0], _sigmoid(x), 0.0), 1.0)[..., None]
    unsure = np.where(alive[0] & alive[1], unsure, 0.0)[..., None]
    merged = share * out[0] + (1 - share) * out[1]
    # The last term is the rounding of this merge in float64: a few roundings of each of its terms.
    allowed = share * bound[0] + (1 - share) * bound[1] + unsure * np.abs(out[0] - out[1])
    allowed = allowed + unsure * (bound[0] + bound[1]) + 8 * 2.0**-53 * (np.abs(out[0]) + np.abs(out[1]))
    where = finite_rows(subject, case) & np.isfinite(e)[..., None]
    require_close(
        subject.forward(case).out, merged, limit(subject, case) + allowed,
        f"output against the parts of {cut} and {n_kv - cut} keys, merged by log-sum-exp", where=where,
    )  # fmt: skip


def _part(subject: Subject, case: Case) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Output, its budget, log-sum-exp and its budget, with zeros where a part has no key for a row."""
    found, dead = subject.forward(case), subject.truth(case).dead
    bound = subject.bounds(case)
    assert found.lse is not None
    empty = dead[..., None]
    return (
        np.where(empty, 0.0, found.out.values), np.where(empty, 0.0, bound.out),
        np.where(dead, 0.0, found.lse.values), np.where(dead, 0.0, bound.lse),
    )  # fmt: skip


def _sigmoid(x: NDArray) -> NDArray:
    return np.asarray(0.5 * (1 + np.tanh(x / 2)))


def both_finite_rows(subject: Subject, case: Case, other: Case) -> NDArray:
    """Rows of which both calls must be finite."""
    return np.asarray(finite_rows(subject, case) & finite_rows(subject, other))


def double_keys(subject: Subject, case: Case) -> Case:
    """The case with all keys, values and mask columns twice, one after the other."""
    n = np.arange(case.key.shape[-2])
    return require_declared_sizes(subject, take_keys(case, np.concatenate([n, n])))


def orthogonal(d: int, rng: np.random.Generator) -> NDArray:
    """A signed permutation, with a Hadamard matrix on the first 4^k features, or a general rotation."""
    kind = int(rng.integers(3))
    signed = np.eye(d)[rng.permutation(d)] * rng.choice([-1.0, 1.0], size=d)
    if kind == 0:
        return np.asarray(signed)
    if kind == 1:  # entries +-2^-k: products with short numbers stay exact
        hadamard: NDArray = np.ones((1, 1))
        while hadamard.shape[0] * 4 <= d:
            two = np.array([[1.0, 1.0], [1.0, -1.0]])
            hadamard = np.kron(hadamard, np.kron(two, two) / 2)
        m = hadamard.shape[0]
        block = np.eye(d)
        block[:m, :m] = hadamard
        return np.asarray(block @ signed)
    q, r = np.linalg.qr(rng.standard_normal((d, d)))
    return np.asarray(q * np.sign(np.diag(r)))


LAWS = (
    Law(a_common_key_vector_cancels, "value", large=3, small=8),
    Law(output_is_affine_in_the_values, "value", space=Space(max_n=129), large=3, small=8),
    Law(turning_queries_and_keys_together_changes_nothing, "value", large=4, small=8),
    Law(doubled_keys_change_nothing, "value", space=Space(causal=(False,), max_n=129), large=3, small=8),
    Law(
        gradients_of_doubled_keys_add_up, "value", declares=lambda i: i.gradients,
        because="gradients are not declared", space=Space(causal=(False,), max_n=65), large=2, small=6,
    ),
    Law(scale_may_move_into_the_query, "value", needs=needs("scale"), large=3, small=10),
    Law(
        parts_merge_by_log_sum_exp, "value", declares=lambda i: i.returns == "out,lse",
        because="no log-sum-exp is returned", space=Space(causal=(False,), min_kv=3), large=4, small=8,
    ),
)  # fmt: skip

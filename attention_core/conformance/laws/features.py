"""What the laws of features share: features drawn for a case, null models of each, and comparisons with the truth."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.features import (
    NULLS,
    OTHER_CORNER,
    Features,
    draw_lengths,
    draw_sinks,
    draw_slopes,
    draw_softcap,
    draw_window,
    pose,
)
from attention_core.conformance.cases.null_models import SEPARATION
from attention_core.conformance.cases.space import Space
from attention_core.conformance.subjects.evidence import NotApplicable, Result, require_close
from attention_core.conformance.subjects.featured import Featured, judge_call, truth_of
from attention_core.conformance.subjects.parameter_case import after
from attention_core.conformance.subjects.subject import Subject
from attention_core.conformance.worker.exchange import NDArray

BESIDE = 0.3
"""How often each other feature that is claimed stands beside the one that a law is about."""
AGAIN, TURNS = 2, 6
"""In one of so many cases a call is made again with another value of its feature, looked for in so many draws."""
FEW_SCORES = 1 << 11
"""So many scores a call has at most that is made again."""
EMPTY = 0.1
"""How often a sequence may have no key at all."""
USUAL = Space(max_n=257)
FEW = Space(max_n=65)
LONG = Space(max_n=257, min_kv=34, floor=False, small=False)
SINGLE = Space(max_n=65)

NOISE = 1e-9
"""What rounding alone moves a float64 output by, generously: a null model below it is none of the case."""
INPUTS = ("query", "key", "value")
SLOPES = "alibi_slopes"

Draw = Callable[[Subject, Case, np.random.Generator], object]
DRAWS: dict[str, Draw] = {
    "window": lambda subject, case, rng: draw_window(case, subject.binding.window_kind, rng),
    "softcap": lambda subject, case, rng: draw_softcap(case, rng, subject.binding.whole_cap),
    "sinks": lambda subject, case, rng: draw_sinks(case, subject.truth(case).lse, rng),
    "alibi_slopes": lambda subject, case, rng: draw_slopes(case, rng),
    "key_lengths": lambda subject, case, rng: draw_lengths(case, rng, empty=rng.random() < EMPTY),
}
"""Feature -> how its value is drawn for a case."""


def draw_features(subject: Subject, case: Case, wanted: str, turn: str = "") -> Features:
    """The feature that a law is about, and now and then others that are claimed; another `turn` draws others."""
    features = Features()
    for name, draw in DRAWS.items():
        rng = case.rng(f"{wanted} {name}{turn}")
        beside = rng.random() < BESIDE
        if name == wanted or (beside and name in subject.binding.claims):
            features = features.with_(**{name: draw(subject, case, rng)})
    return features


def call_of(subject: Subject, case: Case, wanted: str) -> Featured:
    """A call with the feature, its truth and its budget."""
    return judge_call(subject.implementation, case, draw_features(subject, case, wanted))


def large_number(dtype: str) -> float:
    """A number far from all others whose products stay finite in a dtype."""
    return 1e3 if dtype == "float16" else 1e4


def null_models(call: Featured, wanted: str, window_kind: str) -> dict[str, NDArray]:
    """The outputs of calls that get a feature wrong, by what they get wrong."""
    case, declared = call.case, call.declared
    ways = NULLS[wanted](call.features, window_kind)
    found = {name: truth_of(declared, pose(case, wrong, declared.causal)).out for name, wrong in ways}
    if wanted == "window" and case.sizes[0] != case.sizes[1]:
        found["window from the other corner"] = truth_of(
            declared, pose(case, call.features, OTHER_CORNER[declared.causal])
        ).out
    return found


def count_power(subject: Subject, call: Featured, law: str, wanted: str) -> None:
    """Note which null models a case could tell from the truth.

    Raises: NotApplicable where it could tell none: such a case cannot fail.
    """
    live, some = ~call.posed.dead[..., None], False
    for name, out in null_models(call, wanted, subject.binding.window_kind).items():
        apart = np.where(live, np.abs(out - call.truth.out), 0.0)
        separated = bool((apart > SEPARATION * call.limit).any())
        subject.relevant[law, name] += bool((apart > NOISE).any())
        subject.powers[law, name] += separated
        some |= separated
    if not some:
        raise NotApplicable(f"no wrong {wanted.replace('_', ' ')} would stand out")


def require_output(subject: Subject, call: Featured, given: Case, what: str) -> Result:
    """The output of a call with the features of `call`, of these arrays, which must be its truth."""
    out = subject.forward(given, features=call.features).out
    where = call.rows_to_judge
    ratio = require_close(out, call.truth.out, call.limit, f"{what} ({call.features.describe()})", where=where)
    for name in call.features.given():
        subject.record_ratio(given, name, ratio)
    return out


def agrees(subject: Subject, case: Case, law: str, wanted: str) -> None:
    """The output of a call with a feature is its truth, now and then also right after a call with another value of it.

    What is kept of a call by its sizes alone is wrong for the next one.
    """
    call = call_of(subject, case, wanted)
    count_power(subject, call, law, wanted)
    first = require_output(subject, call, case, "output")
    if case.seed % AGAIN == 0 and case.slices * case.sizes[0] * case.sizes[1] <= FEW_SCORES:
        with after([first]):
            require_output(subject, another(subject, case, call, wanted), case, "output after another such call")


def another(subject: Subject, case: Case, call: Featured, wanted: str) -> Featured:
    """A call with another value of a feature, if one of a few draws is another."""
    old = call.features.given()[wanted]
    drawn = (draw_features(subject, case, wanted, f" again {turn}") for turn in range(TURNS))
    features = next((new for new in drawn if not np.array_equal(new.given()[wanted], old)), call.features)
    return judge_call(subject.implementation, case, features)


def require_gradients(subject: Subject, case: Case, wanted: str, judged_inputs: tuple[str, ...] = INPUTS) -> None:
    """The gradients of a call with a feature by some inputs are true.

    Raises: NotApplicable where the contract leaves them open.
    """
    call = call_of(subject, case, wanted)
    if call.posed.dead.any() and subject.implementation.dead_rows not in ("zeros", "uniform"):
        raise NotApplicable
    true, bounds, judged = call.gradients()
    if not judged:
        raise NotApplicable
    found = subject.backward(case, None, judged_inputs, features=call.features)
    lacks = SLOPES in judged_inputs and found.gradients[SLOPES].missing
    if lacks and subject.implementation.parameters.get("learned") != SLOPES:
        raise NotApplicable("slopes get no gradient")
    for name in judged_inputs:
        what = f"gradient of {name} ({call.features.describe()})"
        ratio = require_close(found.gradients[name], true[name], bounds[name], what)
        subject.record_ratio(case, f"{name} of {wanted}", ratio)


def require_plain(subject: Subject, case: Case, features: Features, what: str) -> None:
    """A call whose features leave everything nearly as it is gives the truth of the plain call, but for that."""
    call = judge_call(subject.implementation, case, features)
    out, plain = subject.forward(case, features=features).out, subject.truth(case).out
    with np.errstate(invalid="ignore"):  # a dead row may be NaN in both
        apart = np.nan_to_num(np.abs(plain - call.truth.out))
    require_close(out, plain, call.limit + apart, f"{what} ({features.describe()})", where=call.rows_to_judge)


__all__ = [
    "FEW", "LONG", "SINGLE", "USUAL", "agrees", "call_of", "count_power", "draw_features", "null_models",
    "require_gradients", "require_output", "require_plain",
]  # fmt: skip

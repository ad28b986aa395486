"""The search for a counterexample.

The search on laws made for the test: what each outcome becomes, that a seed repeats a run, and how small failures get.
The target is a correct attention; most of these laws never call it, so only the search itself is at work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
import torch
from judging import judged

from attention_core import oracle
from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.small import plain_case
from attention_core.conformance.cases.space import Space
from attention_core.conformance.contracts import find_contract
from attention_core.conformance.engine.session import Session
from attention_core.conformance.report.law_result import LawResult
from attention_core.conformance.search.judging import SHRINK_CALLS, SLOW_SHRINK_CALLS, Found, Tally, allowance, judge
from attention_core.conformance.search.minimise import minimise, unreadable
from attention_core.conformance.search.search import EFFORTS, Search, judge_one, minimum, run_law, up_to
from attention_core.conformance.search.small_search import WIDE, small_cases
from attention_core.conformance.subjects.binding import bind
from attention_core.conformance.subjects.evidence import Evidence, NotApplicable, Refused, Shown, Violation
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.subject import Subject
from attention_core.conformance.worker.exchange import Request
from attention_core.conformance.worker.runner import LocalRunner
from attention_core.declaration.implementation import Implementation
from attention_core.faults import value as faults
from attention_core.faults.bases.reference import correct

CONTRACT = find_contract("attention")
Check = Callable[[Any, Any], int | None]


def subject(function: Any = correct, **record: Any) -> Subject:
    implementation = Implementation(function, name="under test", **record)
    runner = LocalRunner(function, factory=False, array="torch", device="cpu")
    return Subject(runner, bind(implementation, runner.describe()))


def law(check: Check, *, large: int = 3, small: int = 4, **fields: Any) -> Law:
    check.__name__, check.__doc__ = "made_for_the_test", "A law made for the test."
    return Law(check, "test", large=large, small=small, **fields)


def run(check: Check, on: Subject | None = None, **fields: Any) -> LawResult:
    effort, seed, shrink = (fields.pop(n, d) for n, d in (("effort", "quick"), ("seed", 0), ("shrink", SHRINK_CALLS)))
    return run_law(law(check, **fields), CONTRACT, on or subject(), effort, seed, shrink=shrink)


def broken(message: str = "broken", kind: str = "value") -> Violation:
    return Violation(message, Evidence((Shown(Request(), "out", (0, 0, 0, 0)),), 1.0, 2.0, 0.5, kind))


def never(subject: Any, case: Any) -> None: ...


def always(subject: Any, case: Any) -> None:
    raise broken()


def refuses(subject: Any, case: Any) -> None:
    raise Refused("ValueError: not mine")


def silent(subject: Any, case: Any) -> None:
    raise NotApplicable("says nothing")


def test_a_law_that_never_fails_is_held() -> None:
    seen: list[Case] = []
    result = run(lambda s, case: seen.append(case))
    assert (result.status, result.minimum_met, result.counterexample) == ("held", True, None)
    assert len(seen) == 7
    assert result.cases == sum(case.slices for case in seen)
    assert result.family == "test"
    assert result.seconds > 0


def test_a_law_that_always_fails_is_refuted_on_the_plainest_case() -> None:
    result = run(always)
    assert (result.status, result.message) == ("refuted", "broken")
    assert result.counterexample is not None
    assert result.counterexample.case == "float32 B=1 H=1 n_q=1 n_kv=1 d=1"
    assert (result.counterexample.got, result.counterexample.want, result.counterexample.bound) == (1.0, 2.0, 0.5)
    case = Case.from_json(result.counterexample.data)
    assert not case.query.any()
    assert not case.value.any()


@pytest.mark.parametrize(("small", "large"), [(4, 0), (0, 3)])
def test_either_source_alone_finds_it(small: int, large: int) -> None:
    result = run(always, small=small, large=large)
    assert result.counterexample is not None
    assert result.counterexample.case == "float32 B=1 H=1 n_q=1 n_kv=1 d=1" or large


def test_a_law_that_refuses_is_refused() -> None:
    result = run(refuses)
    assert (result.status, result.cases, result.refused) == ("refused", 0, 7)
    assert result.message == "all 7 cases were declined: ValueError: not mine"


def test_a_few_refusals_are_told() -> None:
    calls: list[int] = []

    def sometimes(subject: Any, case: Any) -> None:
        calls.append(1)
        if len(calls) % 3 == 0:
            raise Refused("ValueError: not mine")

    result = run(sometimes)
    assert (result.status, result.refused, result.minimum_met) == ("held", 2, True)
    assert result.message == "2 cases were declined: ValueError: not mine"


@pytest.mark.parametrize(
    ("refused", "every", "told"),
    [(0, False, ""), (1, False, "1 case was declined: E"), (1, True, "the only case was declined: E")],
)
def test_one_refusal_is_told_in_the_singular(refused: int, every: bool, told: str) -> None:
    assert Tally(refused=refused, refusal="E").describe_refusals(every=every) == told


def wrong_in(dtypes: str) -> Any:
    """Attention that gives NaN in float16, and a gradient of the key that is wrong in the named dtypes."""

    def attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        if str(key.dtype).removeprefix("torch.") in dtypes and key.requires_grad:
            key = key + (key - key.detach())
        out = torch.softmax(query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5, -1) @ value
        return out * torch.nan if query.dtype == torch.float16 else out

    return attention


@pytest.mark.parametrize(("dtypes", "shown"), [("float64", "float64"), ("", "float16"), ("float32 float64", "float32")])
def test_a_failure_in_low_precision_is_looked_for_in_wider_ones(dtypes: str, shown: str) -> None:
    record = Implementation(wrong_in(dtypes), name="f", dtypes=("float16", "float32", "float64"))
    with Session(record, effort="quick", looks=False) as session:
        (law,) = (law for law in session.laws if law.name == "key_gradient_is_true")
        search = Search(law, session.contract, session.subject, 0)
        case = plain_case(session.subject.binding.profile(), "float16")
        search.first = [case]
        found = search.to("quick", shrink=8, lightly=True).counterexample
    assert found is not None and found.data["dtype"] == shown


def test_a_law_that_says_nothing_is_not_applicable() -> None:
    assert (run(silent).status, run(silent).message) == ("not_applicable", "says nothing")
    nothing = run(lambda s, case: 0)
    assert (nothing.status, nothing.message) == ("not_applicable", "no drawn case could say anything about this law")


def test_too_few_cases_are_too_few() -> None:
    calls: list[int] = []

    def once(subject: Any, case: Any) -> int:
        calls.append(1)
        return len(calls) == 1

    result = run(once, large=10, small=10)
    assert (result.status, result.cases, result.minimum_met) == ("held", 1, False)


def one_in(number: int, other: Check) -> Check:
    calls: list[int] = []

    def check(subject: Any, case: Any) -> int | None:
        calls.append(1)
        return None if len(calls) % number == 0 else other(subject, case)

    return check


@pytest.mark.parametrize("other", [refuses, silent])
@pytest.mark.parametrize("effort", ["quick", "standard"])
def test_further_cases_are_drawn_while_too_few_could_be_judged(other: Any, effort: str) -> None:
    result = run(one_in(9, other), large=4, small=12, effort=effort)
    assert (result.status, result.minimum_met) == ("held", True)


def test_a_fault_that_only_a_further_case_shows_is_found() -> None:
    calls: list[int] = []

    def late(subject: Any, case: Any) -> int | None:
        calls.append(1)
        if len(calls) > 30:
            raise broken()
        return None if len(calls) == 1 else silent(subject, case)

    assert run(late, large=4, small=12).status == "refuted"


def test_a_law_that_refusals_leave_without_enough_cases_is_not_applicable() -> None:
    calls: list[int] = []

    def once(subject: Any, case: Any) -> None:
        calls.append(1)
        if len(calls) != 2:
            raise Refused("ValueError: not mine")

    result = run(once, large=4, small=12, effort="standard")
    assert (result.status, result.minimum_met) == ("not_applicable", True)
    assert result.message.startswith("its refusals leave too few cases (")
    calls.clear()
    central = run(once, large=4, small=12, central=True, effort="standard")
    assert (central.status, central.minimum_met) == ("held", False)


def test_the_law_says_how_much_it_judged() -> None:
    assert run(lambda s, case: 2, large=3, small=4).cases == 14


NOT_APPLICABLE = [
    ({"needs": frozenset({"scale", "attn_mask"})}, {"claims": ("is_causal",)}, "attn_mask, scale not claimed"),
    ({"declares": lambda i: i.deterministic, "because": "not declared"}, {}, "not declared"),
    ({"space": Space(masks=("bool",))}, {"claims": ()}, "no case of this law lies within what is declared and claimed"),
    ({"space": Space(dtypes=("float16",))}, {"dtypes": ("float32",)}, "no case of this law lies within"),
    ({"large": 2, "small": 0}, {"sizes": lambda *sizes: False}, "no drawn case could say anything about this law"),
]


@pytest.mark.parametrize(("fields", "record", "words"), NOT_APPLICABLE)
def test_what_is_not_declared_or_claimed_is_not_asked(fields: Any, record: Any, words: str) -> None:
    result = run(always, subject(**record), **fields)
    assert result.status == "not_applicable"
    assert words in result.message


@pytest.mark.parametrize("effort", EFFORTS)
def test_effort_multiplies_cases(effort: str) -> None:
    seen: list[Case] = []
    space = Space(max_n=3, regimes=("integers",))
    run(lambda s, case: seen.append(case), effort=effort, large=2, small=0, space=space)
    assert len(seen) == 2 * EFFORTS[effort]
    assert EFFORTS["quick"] < EFFORTS["standard"] < EFFORTS["thorough"]


def cases_of(seed: int) -> list[Any]:
    seen: list[Any] = []
    run(lambda s, case: seen.append(case.to_json()), seed=seed)
    return seen


def test_the_same_seed_gives_the_same_cases_and_another_others() -> None:
    first = cases_of(0)
    assert cases_of(0) == first
    assert all(a != b for a, b in zip(cases_of(1), first, strict=True) if a["label"])


def timeless(result: LawResult) -> dict[str, Any]:
    return {**asdict(result), "seconds": 0.0}


@pytest.mark.parametrize("make", [lambda: correct, faults.wrong_scale, faults.second_block_skipped])
def test_the_same_seed_gives_the_same_run(make: Any) -> None:
    function = make()
    first, again = (judged("agrees_with_truth", function, seed=3, shrink=60, dtypes=("float32",)) for _ in range(2))
    assert timeless(first) == timeless(again)


def test_laws_do_not_disturb_each_others_cases() -> None:
    one, two = subject(), subject()
    run(never, one, space=Space(masks=("bool",)))
    run(never, one, large=9, small=20)
    alone: list[Any] = []
    after: list[Any] = []
    run(lambda s, case: alone.append(case.to_json()), two, space=Space(masks=("none",)))
    run(lambda s, case: after.append(case.to_json()), one, space=Space(masks=("none",)))
    assert alone == after


def test_shared_small_cases_are_those_the_law_asked_for() -> None:
    on = subject()
    spaces = [
        Space(masks=("bool",), causal=(True,), dead=0.0, scales=False), Space(dead=0.5), Space(square=True, min_heads=2),
        Space(masks=("finite",), grouped=False), Space(min_batch=2, min_q=2, dtypes=("float16",)), Space(masks=("none",)),
    ]  # fmt: skip
    for space in spaces:
        restricted = on.binding.profile().restrict(space)
        assert restricted is not None
        cases = small_cases(CONTRACT, on, restricted, 12, 1, 0)
        assert len(cases) == 12
        for case in cases:
            assert restricted.contains(case)
            truth = oracle.attention(case.query, case.key, case.value, case.mask, is_causal=case.is_causal)
            assert space.dead or not truth.dead.any()


def test_a_flaky_law_is_refuted_with_the_case_that_failed() -> None:
    failed: list[Case] = []

    def flaky(subject: Any, case: Any) -> None:
        if not failed:
            failed.append(case)
            raise broken()

    result = run(flaky)
    assert result.status == "refuted"
    assert result.counterexample is not None
    assert result.counterexample.data == failed[0].to_json()


SHRUNK: list[tuple[Callable[[Case], Any], str]] = [
    (lambda c: c.sizes[1] > 40, "n_q=1 n_kv=41 d=1"),
    (lambda c: c.sizes[0] > 20, "n_q=21 n_kv=1 d=1"),
    (lambda c: c.sizes[2] == 33, "n_q=1 n_kv=1 d=33 d_v=1"),
    (lambda c: c.sizes[4] > 1, "H=2 "),
    (lambda c: c.is_causal and c.sizes[0] < c.sizes[1], "n_q=1 n_kv=2 d=1 causal"),
    (lambda c: c.dtype == "bfloat16", "bfloat16 B=1 H=1 n_q=1 n_kv=1 d=1"),
    (lambda c: (c.scale or 0) < 0, "scale=-"),
    (lambda c: c.mask is not None and c.mask.dtype != bool and (c.mask > 1.5).any(), "float mask (1, 1)"),
]


@pytest.mark.parametrize(("fails", "words"), SHRUNK, ids=[words for _, words in SHRUNK])
def test_large_failures_get_small(fails: Any, words: str) -> None:
    def check(subject: Any, case: Any) -> None:
        if fails(case):
            raise broken()

    # more calls than a run spends, so that the end of the descent is seen
    result = run(check, large=200, small=0, shrink=3000)
    assert result.counterexample is not None
    assert words in result.counterexample.case
    case = Case.from_json(result.counterexample.data)
    assert fails(case)
    assert not case.query.any()
    assert not case.key.any()


FAULTS = [("wrong_scale", 2), ("scale_missing", 2), ("softcap_always", 1), ("negative_weights", 1)]


@pytest.mark.parametrize(("fault", "d"), FAULTS)
def test_real_faults_end_in_a_case_to_read(fault: str, d: int) -> None:
    make = faults.FAULTS[fault]
    result = judged("agrees_with_truth", make(), shrink=SHRINK_CALLS, dtypes=("float32",))
    assert result.counterexample is not None
    case = Case.from_json(result.counterexample.data)
    n_q, n_kv, head, _, heads, kv_heads = case.sizes
    assert (case.query.shape[0], heads, kv_heads, n_q, n_kv) == (1, 1, 1, 1, 2)
    assert head <= d
    assert case.mask is None
    assert not case.is_causal
    numbers = {float(x) for a in (case.query, case.key, case.value) for x in a.reshape(-1)}
    assert numbers <= {0.0, 1.0, -1.0, 2.0, 8.0}
    assert len(result.counterexample.snippet.splitlines()) < 20


def test_shrinking_does_not_slip_to_another_fault() -> None:
    def two_faults(subject: Any, case: Any) -> None:
        if case.sizes[1] > 20:
            raise broken("the one that was found", "nonfinite")
        raise broken("another", "shape")

    found = Found(next(c for c in drawn_cases() if c.sizes[1] > 20), broken("the one that was found", "nonfinite"))
    end = minimise(law(two_faults), CONTRACT, subject(), Space(), found, 500)
    assert end.violation.message == "the one that was found"
    assert end.case.sizes[1] == 21


def drawn_cases() -> list[Case]:
    on, rng = subject(), np.random.default_rng(0)
    return [case for _ in range(60) if (case := CONTRACT.draw(on, Space(), rng)) is not None]


@pytest.mark.parametrize("calls", [0, 1, 7])
def test_minimising_stays_within_its_allowance(calls: int) -> None:
    made: list[Case] = []

    def counted(subject: Any, case: Any) -> None:
        made.append(case)
        raise broken()

    case = next(c for c in drawn_cases() if not unreadable(c))
    minimise(law(counted), CONTRACT, subject(), Space(), Found(case, broken()), calls)
    assert len(made) == calls


@pytest.mark.parametrize("calls", [0, 1, 7])
def test_a_case_that_nobody_could_read_is_worth_more_calls(calls: int) -> None:
    case = next(c for c in drawn_cases() if unreadable(c))
    end = minimise(law(always), CONTRACT, subject(), Space(), Found(case, broken()), calls)
    assert unreadable(end.case) == (calls == 0)


def test_what_is_lost_again_and_again_is_not_called_for_being_unreadable() -> None:
    made: list[Case] = []

    def hangs(subject: Any, case: Any) -> None:
        made.append(case)
        raise broken("the call did not return: no answer within 60 s", "crash")

    case = next(c for c in drawn_cases() if unreadable(c))
    minimise(law(hangs), CONTRACT, subject(), Space(), Found(case, hung := broken(LOST[-1][0].message, "crash")), 50)
    assert made == [] and allowance(hung, 50) == 0


def test_reductions_stay_within_the_wish_and_the_declared_sizes() -> None:
    on = subject(sizes=lambda n_q, n_kv, d, d_v, H, H_kv: n_kv >= 2 and d == d_v)
    space = Space(min_q=2, causal=(True,))
    case = next(c for _ in range(9) if (c := CONTRACT.draw(on, space, np.random.default_rng(0))) is not None)
    end = minimise(law(always), CONTRACT, on, space, Found(case, broken()), 3000)
    assert end.case.sizes == (2, 2, 1, 1, 1, 1)
    assert end.case.is_causal


LOST = [
    (broken(), SHRINK_CALLS),
    (broken("a valid call raised KeyError", "crash"), SHRINK_CALLS),
    (broken("the call did not return: the process was ended by signal SIGSEGV", "crash"), SLOW_SHRINK_CALLS["crash"]),
    (broken("the call did not return: no answer within 60 s", "crash"), 0),
]


@pytest.mark.parametrize(("violation", "calls"), LOST)
def test_a_lost_process_is_worth_few_more(violation: Violation, calls: int) -> None:
    assert allowance(violation, SHRINK_CALLS) == calls
    assert SLOW_SHRINK_CALLS["crash"] < 20


def test_a_crash_is_shrunk_within_its_allowance() -> None:
    calls: list[Case] = []

    def crash(subject: Any, case: Any) -> None:
        calls.append(case)
        raise broken("the call did not return: the process ended with status 3", "crash")

    assert run(crash).status == "refuted"
    # the first failure, Hypothesis's repetition of it, and the allowance of both minimisers
    assert len(calls) <= 2 + 2 * SLOW_SHRINK_CALLS["crash"] + 1


@pytest.mark.parametrize(
    ("planned", "refused", "times", "expected"),
    [(16, 0, 1, 4), (80, 0, 5, 20), (16, 16, 1, 1), (80, 78, 5, 5), (640, 0, 40, 160), (3, 0, 1, 1)],
)
def test_the_stated_minimum(planned: int, refused: int, times: int, expected: int) -> None:
    assert minimum(planned, refused, times) == expected


STATUS = [(never, "held"), (always, "refuted"), (refuses, "refused"), (silent, "not_applicable")]


@pytest.mark.parametrize(("check", "status"), STATUS)
def test_one_case_again(check: Any, status: str) -> None:
    case = drawn_cases()[0]
    result = judge_one(law(check), subject(), case)
    assert result.status == status
    assert (result.counterexample is not None) == (status == "refuted")
    assert result.cases == (case.slices if status == "held" else 0)


def test_what_is_no_outcome_is_raised() -> None:
    def wrong(subject: Any, case: Any) -> None:
        raise ZeroDivisionError("a defect of the law itself")

    with pytest.raises(ZeroDivisionError, match="a defect"):
        judge(law(wrong), subject(), drawn_cases()[0], Tally())


def test_a_higher_effort_begins_with_the_cases_of_the_lower_one() -> None:
    seen: dict[str, list[Any]] = {}
    for effort in ("quick", "standard"):
        cases: list[Any] = []
        run(lambda s, case, cases=cases: cases.append(case.to_json()), effort=effort)  # type: ignore[misc]
        seen[effort] = cases
    quick, standard = seen["quick"], seen["standard"]
    assert len(quick) == 7 and len(standard) == 35
    assert standard[:7] == quick
    assert sum(case not in quick for case in standard[7:]) > 20, "further cases are others"


def test_a_search_that_goes_on_does_not_begin_again() -> None:
    at_once: list[Any] = []
    in_turns: list[Any] = []
    whole = run(lambda s, case: at_once.append(case.to_json()), effort="standard")
    search = Search(law(lambda s, case: in_turns.append(case.to_json())), CONTRACT, subject())
    results = [search.to(effort) for effort in ("quick", "standard", "standard")]
    assert in_turns == at_once
    assert [r.cases for r in results] == [results[0].cases, whole.cases, whole.cases]
    assert results[0].cases < whole.cases
    assert results[0].seconds <= results[1].seconds <= results[2].seconds


def test_an_effort_goes_through_those_below_it() -> None:
    assert [up_to(effort) for effort in EFFORTS] == [
        ("quick",), ("quick", "standard"), ("quick", "standard", "thorough")
    ]  # fmt: skip


def test_small_cases_of_each_effort_have_a_seed_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []

    def search_small(*args: Any) -> None:
        seeds.append(args[5])

    monkeypatch.setattr("attention_core.conformance.search.search.search_small", search_small)
    for seed in range(3):
        run(never, effort="thorough", seed=seed)
    assert len(seeds) == len(set(seeds)) == 9
    assert seeds[::3] == [0, 1, 2]


def test_further_cases_of_one_law_are_drawn_from_its_own_space_alone() -> None:
    on = subject()
    run(one_in(9, silent), on=on, large=4, small=12)
    drawn = [(size, seed) for _, size, seed in vars(on)["pools"]]
    assert any(seed for _, seed in drawn), "the law had further cases"
    assert all(size < WIDE for size, seed in drawn if seed), "none of the widest space"

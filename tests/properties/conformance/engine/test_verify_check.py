"""check_implementation and sessions.

The engine's front door: what a session makes of laws, of known failures, of saved cases and of broken targets.
Sessions run one or two laws on functions of three lines; the laws themselves are tested elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from attention_core.conformance import Implementation, TargetError, check_implementation
from attention_core.conformance.cases.case import Case
from attention_core.conformance.contracts import find_contract
from attention_core.conformance.engine.session import Session, select_laws, versions
from attention_core.conformance.report.law_result import LawResult
from attention_core.conformance.report.results import Report
from attention_core.conformance.search.search import Search
from attention_core.conformance.subjects.evidence import Refused
from attention_core.conformance.subjects.law import Law
from attention_core.declaration.implementation import CLAIMS
from attention_core.declaration.known_failures import KnownFailure
from attention_core.faults.bases.reference import build, correct
from attention_core.faults.value import wrong_scale

LAW = "agrees_with_truth"
CHEAP = {"dtypes": ("float32",), "gradients": False}


@pytest.fixture(autouse=True)
def little_shrinking(monkeypatch: pytest.MonkeyPatch) -> None:
    """How small a counterexample gets is the business of search/test_search.py; advice, of test_advice.py."""
    monkeypatch.setattr("attention_core.conformance.engine.session.SHRINK_CALLS", 12)
    monkeypatch.setattr("attention_core.conformance.engine.session.Session.first_look", None)


def record(function: Any, **fields: Any) -> Implementation:
    return Implementation(function, **{"name": "f", **CHEAP, **fields})


def checked(function: Any, *laws: str, **fields: Any) -> Report:
    return check_implementation(record(function, **fields), "quick", laws=laws or (LAW,))


def plain(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    out: Tensor = correct(query, key, value)
    return out


def raising(error: BaseException) -> Callable[..., Any]:
    def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        raise error

    return attention


TARGETS = [
    (plain, "incomplete", "held", ""),
    (wrong_scale(), "refuted", "refuted", ""),
    (raising(NotImplementedError("not yet")), "incomplete", "refused", "no law could be judged: all "),
    (raising(ValueError("no")), "incomplete", "refused", "ValueError: no"),
    (raising(AssertionError()), "incomplete", "refused", "AssertionError without a message"),
    (raising(RuntimeError("no kernel")), "incomplete", "refused", "RuntimeError: no kernel"),
    (raising(KeyError("x")), "refuted", "refuted", ""),
    (raising(RecursionError("deep")), "refuted", "refuted", ""),
    (raising(RuntimeError("x INTERNAL ASSERT FAILED")), "refuted", "refuted", ""),
    (raising(SystemExit(0)), "refuted", "refuted", ""),
    (lambda q, k, v: None, "error", "not_applicable", "no call gave an array: expected a torch.Tensor, got NoneType"),
    (lambda q, k, v: (plain(q, k, v), 1), "error", "not_applicable", "result 2 of 2: expected a torch.Tensor, got int"),
    (lambda q, k, v: plain(q, k, v)[..., :-1, :], "refuted", "refuted", ""),
    (lambda q, k, v: plain(q, k, v).double(), "refuted", "refuted", ""),
    (lambda q, k, v: plain(q, k, v).to_sparse(), "error", "not_applicable", "the numbers of the result cannot be read"),
    (lambda q, k, v: plain(q.mul_(1.5), k, v), "refuted", "refuted", ""),
    (torch.softmax, "incomplete", "refused", "no law could be judged"),
]


@pytest.mark.parametrize(("function", "verdict", "status", "words"), TARGETS)
def test_whatever_a_function_does_has_a_verdict(function: Any, verdict: str, status: str, words: str) -> None:
    report = checked(function)
    assert (report.verdict, [r.status for r in report.laws]) == (verdict, [status])
    assert words in report.problem
    assert not report.isolated
    assert (report.target, report.seed, report.effort) == ("f", 0, "quick")


MESSAGES = [
    (raising(KeyError("x")), "a valid call raised KeyError: 'x'"),
    (raising(SystemExit(7)), "the call did not return: the target called sys.exit(7)"),
    (
        lambda q, k, v: plain(q, k, v) if q.shape[-2] % 2 else None,
        "wrong result: expected a torch.Tensor, got NoneType",
    ),
    (lambda q, k, v: (plain(q, k, v), 1)[: 1 + (q.shape[-2] > 3)], "wrong result: result 2 of 2: expected a torch."),
    (lambda q, k, v: plain(q, k, v)[..., 0, :], "out: got shape (1, 1, 1), but should be (1, 1, 1, 1)"),
    (lambda q, k, v: plain(q, k, v).double(), "out: got dtype float64, but should be float32"),
    (lambda q, k, v: plain(q, k, v.add_(1)), "the call changed its input value, but should leave inputs as they are"),
]


@pytest.mark.parametrize(("function", "message"), MESSAGES)
def test_the_message_says_what_was_got_and_what_should_be(
    monkeypatch: pytest.MonkeyPatch, function: Any, message: str
) -> None:
    monkeypatch.setattr("attention_core.conformance.engine.session.SHRINK_CALLS", 150)
    (found,) = checked(function).counterexamples
    assert message in found.message


def test_the_core_decides_about_conformity() -> None:
    def aligned(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        if query.shape[-2] % 8 or key.shape[-2] % 8:
            raise NotImplementedError("multiples of 8 only")
        return plain(query, key, value)

    with Session(record(aligned)) as session:
        assert "it declined a plain call, which every implementation should answer: " in session.core()
        assert "NotImplementedError: multiples of 8 only" in session.core()
        held = [LawResult(LAW, "held", 9, 0.1)]
        assert session.report(held).verdict == "incomplete"
        chosen = session.report(held, complete=False)  # only some laws were asked for
        assert (chosen.verdict, chosen.passed) == ("incomplete", True)
        assert chosen.reason() == "the chosen law held; a verdict needs all laws"
    with Session(record(plain)) as session:
        assert session.core() == ""
        assert session.report(held).verdict == "conforms"
    with Session(record(plain, sizes=lambda *sizes: False)) as session:
        assert session.core() == "no core case lies in the declared sizes"


def test_one_accepted_dtype_is_a_core() -> None:
    def picky(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        if query.dtype != torch.float64:
            raise NotImplementedError
        return plain(query, key, value)

    with Session(record(picky, dtypes=("float32", "float64"))) as session:
        assert session.core() == ""


KNOWN = "broken since 1.0"


def test_a_known_failure_must_still_fail() -> None:
    failing = checked(wrong_scale(), known_failures={LAW: KNOWN})
    assert (failing.verdict, failing.passed, failing.laws[0].status) == ("incomplete", True, "known_failure")
    assert failing.reason() == "1 known failure still there; a verdict needs all laws"
    assert failing.laws[0].message.startswith(f"{KNOWN} [")
    assert len(failing.counterexamples) == 1
    mended = checked(plain, known_failures={LAW: KNOWN})
    assert (mended.verdict, mended.passed, mended.laws[0].status) == ("incomplete", False, "unexpected_pass")
    assert mended.laws[0].message == f"a known failure no longer fails: {KNOWN}"
    refusing = checked(raising(ValueError("no")), known_failures={LAW: KNOWN})
    assert refusing.laws[0].status == "unexpected_pass"


def test_a_known_failure_is_put_to_its_saved_case() -> None:
    (found,) = checked(wrong_scale()).counterexamples
    calls: list[int] = []

    def counted(function: Any) -> Any:
        def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
            calls.append(1)
            out: Tensor = function(query, key, value)
            return out

        return attention

    known = {LAW: KnownFailure(KNOWN, found.data)}
    with Session(record(counted(wrong_scale()), known_failures=known)) as session:
        assert session.run(select_laws(session.laws, [LAW])[0]).status == "known_failure"
    assert len(calls) <= 6  # the case, and the same call again for what is shown of it
    with Session(record(counted(plain), known_failures=known)) as session:
        assert session.run(select_laws(session.laws, [LAW])[0]).status == "unexpected_pass"


@pytest.mark.parametrize("data", [{}, {**dict.fromkeys(("dtype", "is_causal", "scale", "seed", "label", "views"), 3)}])
def test_a_saved_case_that_cannot_be_read_is_an_error(data: dict[str, Any]) -> None:
    report = checked(plain, known_failures={LAW: KnownFailure(KNOWN, data)})
    assert (report.verdict, report.laws[0].status) == ("error", "error")
    assert report.laws[0].message.startswith("the saved case cannot be read: ")


def test_a_counterexample_can_be_replayed() -> None:
    (found,) = checked(wrong_scale()).counterexamples
    with Session(record(wrong_scale())) as session:
        (law,) = select_laws(session.laws, [LAW])
        again = session.replay(law, found.data)
        assert again.status == "refuted"
        assert again.message == found.message
    with Session(record(correct)) as session:
        assert session.replay(law, found.data).status == "held"


BAD = [
    (plain, {"effort": "much"}, "effort='much' is not one of quick, standard, thorough"),
    (plain, {"laws": ("nothing",)}, "no law 'nothing' in this contract; `attention-core laws` lists them"),
    (plain, {"laws": ("agree",)}, "no law 'agree' in this contract; did you mean agrees_with_truth"),
    (plain, {"seed": -1}, "seed=-1 is negative"),
    (3, {}, "f is not callable (it is of type int)"),
    (len, {}, "f takes 1 parameter, but attention needs query, key and value"),
    (record(plain, contract="nothing"), {}, "no contract 'nothing'; there are: attention, attention-lse"),
    (
        record(plain, known_failures={"nothing": KNOWN}),
        {},
        "known failures name 'nothing', which is not a law of this contract",
    ),
]


@pytest.mark.parametrize(("target", "options", "words"), BAD)
def test_what_cannot_be_tested_as_given_ends_in_one_line(target: Any, options: dict[str, Any], words: str) -> None:
    given = target if isinstance(target, Implementation) else record(target)
    with pytest.raises(TargetError, match=re.escape(words)):
        check_implementation(given, **options)


def test_a_law_that_breaks_the_suite_is_an_error_and_the_others_go_on() -> None:
    def defect(subject: Any, case: Any) -> None:
        raise ZeroDivisionError("line one\nline two")

    with Session(record(plain), effort="quick") as session:
        broken = session.run(Law(defect, "test", small=0))
        other = session.run(select_laws(session.laws, [LAW])[0])
        assert (broken.status, other.status) == ("error", "held")
        assert broken.message == "the suite could not judge this law: ZeroDivisionError: line one"
        assert session.report([broken, other], complete=False).verdict == "error"


def test_claims_open_the_report() -> None:
    def masked(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, scale: float | None = None
    ) -> Tensor:
        if scale is not None:
            raise NotImplementedError("no scale")
        out: Tensor = correct(query, key, value, attn_mask)
        return out

    claims = checked(masked, "scale_zero_averages", "bool_and_additive_masks_agree").claims
    assert set(claims) == set(CLAIMS)
    assert claims["attn_mask"] == "tested"
    assert claims["scale"] == "refused"
    assert claims["is_causal"] == "not tested: no such parameter"
    unread = checked(torch.nn.functional.scaled_dot_product_attention).claims
    assert unread["scale"] == "it has no readable signature"


def test_a_target_that_keeps_dying_is_given_up() -> None:
    with Session(record(raising(SystemExit(1))), effort="quick") as session:
        results = [session.run(law) for law in session.laws]
    assert results[0].status in ("refuted", "not_applicable")
    assert results[-1].message == "not run: the target kept crashing or hanging"
    assert session.report(results).verdict == "refuted"
    assert session.core() == "the target kept crashing or hanging"


def test_a_refused_core_case_does_not_end_the_session() -> None:
    with Session(record(plain)) as session:

        def refuse(case: Any) -> Any:
            raise Refused("ValueError: no")

        session.subject.forward = refuse
        assert "it declined a plain call" in session.core()


def test_names_and_progress() -> None:
    seen: list[LawResult] = []
    report = check_implementation(
        plain, "quick", laws=(LAW, "head_sizes_of_query_and_key_must_agree"), progress=seen.append
    )
    assert report.target == "plain"
    assert [r.law for r in seen] == [r.law for r in report.laws] == [LAW, "head_sizes_of_query_and_key_must_agree"]
    assert report.laws[0].powers


def test_laws_by_name_keep_the_asked_order() -> None:
    laws = find_contract("attention").laws
    names = [laws[3].name, laws[1].name]
    assert [law.name for law in select_laws(laws, names)] == names
    assert select_laws(laws, []) == list(laws)


def test_versions_of_what_took_part() -> None:
    found = versions("torch")
    # PyPI's wheel of torch has its +cu130 in `__version__` and not in its metadata.
    assert torch.__version__.partition("+")[0] == found["torch"].partition("+")[0]
    assert {"python", "numpy", "hypothesis"} <= found.keys()
    assert "nothing-of-this-name" not in versions("nothing-of-this-name")


class Fake:
    """A runner that counts how often it was closed."""

    isolated, closed = False, 0

    def __init__(self, *args: Any, **options: Any) -> None: ...

    def start(self) -> None: ...

    def describe(self) -> dict[str, Any]:
        return {"callable": False, "type": "int", "parameters": None}

    def close(self) -> None:
        Fake.closed += 1


def test_a_session_that_cannot_open_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attention_core.conformance.engine.session.WorkerRunner", Fake)
    with pytest.raises(TargetError, match="not callable"):
        Session(record(None), "some.module:f")
    assert Fake.closed == 1


def test_a_thrown_away_record_is_not_changed() -> None:
    given = record(wrong_scale(), name="")
    assert check_implementation(given, "quick", laws=(LAW,)).target.endswith("attention")
    assert given == replace(given)
    assert given.name == ""


def test_the_front_door_is_light() -> None:
    import attention_core.conformance as door

    with pytest.raises(AttributeError, match="nothing"):
        door.nothing  # noqa: B018
    assert Path(door.__file__ or "").name == "__init__.py"


def test_wrong_weights_are_found_under_every_seed() -> None:
    late = build(combine=lambda p, value: (p + 0.1) @ value)
    for seed in range(2):
        assert check_implementation(record(late), "quick", seed, laws=(LAW,)).verdict == "refuted"


@pytest.mark.thorough
@pytest.mark.parametrize("claim", ["is_causal", "attn_mask", "dropout_p"])
def test_a_target_with_one_claim_alone_is_judged_on_enough_cases(claim: str) -> None:
    implementation = Implementation(
        torch.nn.functional.scaled_dot_product_attention, claims=(claim,), dtypes=("float32",), masked_nan="propagates"
    )
    with Session(implementation, effort="quick", seed=2) as session:
        results = [session.run(law) for law in session.laws]
    assert [r.law for r in results if r.status == "held" and not r.minimum_met] == []


@pytest.mark.parametrize("shrink", [True, False])
def test_counterexamples_are_made_small_only_where_that_is_asked_for(
    shrink: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def to(search: Search, effort: str, *, shrink: int, lightly: bool, fewest: bool) -> LawResult:
        asked.append(shrink)
        return LawResult(search.law.name, "held", 1, 0.0, None, "", search.law.family)

    monkeypatch.setattr(Search, "to", to)
    with Session(record(plain), effort="quick", shrink=shrink) as session:
        session.run(session.laws[0])
    assert [calls > 0 for calls in asked] == [shrink]


def halved(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return plain(query, key, value) / 2


def session_of(function: Any, *laws: Law, **options: Any) -> Session:
    """A session with these laws in place of its contract's."""
    session = Session(record(function), shrink=False, **options)
    session.contract = replace(session.contract, laws=laws)
    return session


def test_every_law_has_its_first_cases_before_any_law_has_all_of_its_own() -> None:
    asked: list[Case] = []

    def early(subject: Any, case: Any) -> None:
        asked.append(case)

    (late,) = select_laws(find_contract("attention").laws, [LAW])
    with session_of(halved, Law(early, "test", large=2, small=0), late, effort="standard") as session:
        results = session.results(session.laws)
        first = next(results)
        assert (first.law, first.status, len(asked)) == (LAW, "refuted", 2)
        (last,) = results
    assert (last.law, last.status, len(asked)) == ("early", "held", 10)


def test_laws_that_held_before_the_target_gave_up_say_how_far_they_came() -> None:
    asked: list[Case] = []

    def first(subject: Any, case: Any) -> None:
        asked.append(case)
        subject.lost = 6 if len(asked) > 2 else 0

    def second(subject: Any, case: Any) -> None: ...

    laws = tuple(Law(check, "test", large=2, small=0) for check in (first, second))
    with session_of(plain, *laws, effort="standard") as session:
        results = {result.law: result for result in session.results(laws)}
    assert results["second"].status == "held"
    assert results["second"].message == "at effort quick alone: the target kept crashing or hanging"

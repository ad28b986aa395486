"""Questions about a target and about faults in its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from attention_core.audit.judge import Judge, answer_or_problem
from attention_core.audit.plan import Plan
from attention_core.audit.results import as_test
from attention_core.conformance.engine.session import Session, select_laws
from attention_core.conformance.report.law_result import LawResult
from attention_core.conformance.subjects.law import Law

MINE = """
import torch

def attention(q, k, v, causal=False):
    s = q.transpose(1, 2) @ k.transpose(1, 2).mT / q.shape[-1] ** 0.5
    if causal:
        s = s.masked_fill(~torch.ones(s.shape[-2:], dtype=torch.bool).tril(), float("-inf"))
    return (torch.softmax(s, -1) @ v.transpose(1, 2)).transpose(1, 2)

def with_lse(q, k, v):
    s = q @ k.mT / q.shape[-1] ** 0.5
    dead = torch.zeros(s.shape[:-1] + v.shape[-1:], dtype=s.dtype)
    return (torch.softmax(s, -1) @ v if s.shape[-1] else dead), s.float().logsumexp(-1).to(s.dtype)

def total(q, k, v):
    return q + k + v

class Module(torch.nn.Module):
    def forward(self, q, k, v):
        return attention(q, k, v)
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mine") / "judged_attention.py"
    path.write_text(MINE, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def judge(file: Path) -> Judge:
    return Judge(f"{file}:attention")


@pytest.fixture(scope="module")
def plan(judge: Judge) -> Plan:
    return Plan(judge.target, "replace", declared=judge.look(Plan(judge.target))["declared"])


def test_the_conventions_are_found(judge: Judge, plan: Plan) -> None:
    assert plan.declared["layout"] == "bnhd"


def test_a_fault_that_shows_is_refuted_and_its_smallest_case_is_of_the_users_function(judge: Judge, plan: Plan) -> None:
    fault = Plan(**{**vars(plan), "fault": "causality.causality_ignored"})
    law = judge.refute(fault)["law"]
    case = judge.smallest(fault, law, others=False)["case"]
    assert law and "from judged_attention import attention" in case["snippet"]
    names: dict[str, object] = {}
    exec(as_test(case["snippet"], "test_one"), names)
    names["test_one"]()  # type: ignore[operator]  # passes on what is right


def test_what_shows_only_in_calls_that_the_target_refuses_does_not_count(
    judge: Judge, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    grouped = ["grouped_query_equals_repeated_keys"]
    monkeypatch.setattr(Session, "laws", property(lambda self: select_laws(self.contract.laws, grouped)))
    found = judge.refute(replace(plan, fault="heads_and_batch.first_key_head_for_all"))
    assert found["law"] == "" and found["refused"] == grouped[0]


def test_what_cannot_be_judged_is_said(file: Path) -> None:
    asked = {"ask": "look", "plan": Plan("").to_json()}
    for name, words in (("total", "under no conventions"), ("Module", "a module or a class")):
        target = f"{file}:{name}"
        assert words in answer_or_problem(Judge(target), {**asked, "plan": Plan(target).to_json()})["problem"]


def test_the_log_sum_exp_has_faults_of_its_own(file: Path) -> None:
    judge = Judge(f"{file}:with_lse")
    found = judge.look(Plan(judge.target, declared={"contract": "attention-lse"}))
    form = {"kind": "tuple", "keys": (), "empty": (False, False)}
    plan = Plan(judge.target, "replace", "lse.base_two", found["declared"], form)
    assert "lse" in judge.refute(plan)["law"]


def test_the_likely_law_is_asked_first_and_alone(judge: Judge, plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[list[str]]()
    results = Session.results

    def note(self: Session, laws: Sequence[Law]) -> Iterator[LawResult]:
        asked.append([law.name for law in laws])
        return results(self, laws)

    monkeypatch.setattr(Session, "results", note)
    law = "no_row_sees_a_later_one"
    monkeypatch.setattr("attention_core.audit.judge.likely_law", lambda fault: law)
    assert judge.refute(replace(plan, fault="causality.causality_ignored"))["law"] == law and asked == [[law]]


def test_a_hint_that_does_not_hold_changes_nothing(judge: Judge, plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attention_core.audit.judge.likely_law", lambda fault: "a_call_leaves_the_process_as_it_was")
    fault = replace(plan, fault="causality.causality_ignored")
    hinted = judge.refute(fault)
    monkeypatch.setattr("attention_core.audit.judge.likely_law", lambda fault: "")
    assert hinted == judge.refute(fault) and hinted["law"]

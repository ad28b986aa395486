"""What commands write is what their schemas say."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator
from markupsafe import Markup

from attention_core.audit.results import Audit, Fate
from attention_core.bench.report.results import Results
from attention_core.bench.revisions.outcomes import Comparison, Outcome, Revision
from attention_core.cli import main
from attention_core.conformance.first_look import FirstLook
from attention_core.conformance.report.law_result import Counterexample, LawResult
from attention_core.conformance.report.results import Report, to_json
from attention_core.conformance.report.shards import read_shard, shard_to_json
from attention_core.declaration.implementation import TargetError
from attention_core.derivation import check_document
from attention_core.grading.results import Grade
from attention_core.grading.results import to_json as grades_to_json
from attention_core.report_page.page import to_json as page_to_json
from attention_core.report_page.schemas import read_schema, schema_names
from attention_core.report_page.sections import Section
from attention_core.teaching import feedback, grading, selection

FOUND = Counterexample("a_law", "got nan", "", {}, "", float("nan"), 1.0, None)
REPORT = Report(
    "f", {"dtypes": ["float32"]}, {"scale": "tested"}, [LawResult("a_law", "refuted", 1, 0.1, FOUND)], {"torch": "9"},
    ratios={"float32/out": float("inf")}, first_look=FirstLook(("a line",)),
)  # fmt: skip
REPORT.under_found = Report("f")
STEPS = "Let $x \\in \\mathbb{R}$.\n\n$$ x + x = 2 x $$\n\n$$ x = 2 x $$\n\n$$ x = \\oops $$\n"
AUDIT = Audit("m:f", ("tests",), fates=[Fate("a", "", "masking", status="survived")])
LOST = Outcome("f.py:f", "n=8", message="it is wrong")
HANDED_IN = grading.Grade("ann", "refuted", "", REPORT.to_dict(), ["a_law"])
LISTS = ("laws", "kernels", "contracts")


def listed(name: str) -> str:
    """What `attention-core laws --json -` and its like print."""
    return str(CliRunner().invoke(main, [name, "--json", "-"]).output)


def exercised() -> str:
    """What `attention-core exercise --json -` prints: the words go to standard error."""
    return str(CliRunner().invoke(main, ["exercise", "selection", "--q", "10*k_0", "--json", "-"]).stdout)


WRITTEN: list[tuple[str, Callable[[], str]]] = [
    ("verify", lambda: to_json([REPORT])),
    ("verify", lambda: to_json([REPORT, Report("g")])),
    ("verify", lambda: shard_to_json(read_shard("1/2", ["f", "g"]), [REPORT])),
    ("derive", lambda: json.dumps({"schema_version": 1, "documents": [check_document(STEPS).as_dict()]})),
    ("bench", lambda: Results({}, {}, {}).to_json()),
    ("revisions", lambda: Comparison(Revision("a", "b"), Revision("c", "d"), 1.02, outcomes=[LOST]).to_json()),
    ("audit", lambda: AUDIT.to_json()),
    ("audit", lambda: Audit("m:f", ("tests",), problem="why").to_json()),
    ("grade", lambda: grades_to_json([Grade("a.py", "t", "accepted")])),
    ("class", lambda: feedback.to_json([HANDED_IN, grading.Grade("bob", "error", "no file", {})], "f")),
    ("exercise", lambda: selection.to_json(selection.mark(q="10*k_0", matrix="k_0; k_1; k_2; k_3", k_2="9 9 9"))),
    ("exercise", exercised),
    ("report", lambda: page_to_json([Section("q", "a.json", "refuted", "bad", "1 refuted", Markup(""), "verify")])),
    *((name, partial(listed, name)) for name in LISTS),
]
"""What a command writes, made when its test runs."""


@pytest.mark.parametrize("name", schema_names())
def test_each_is_a_schema(name: str) -> None:
    Draft202012Validator.check_schema(json.loads(read_schema(name)))
    assert name in {kind for kind, _ in WRITTEN}


@pytest.mark.parametrize("name, write", WRITTEN)
def test_what_is_written_is_as_the_schema_says(name: str, write: Callable[[], str]) -> None:
    data = json.loads(write())
    checker = Draft202012Validator(json.loads(read_schema(name)))
    assert [f"{error.json_path}: {error.message}" for error in checker.iter_errors(data)] == []
    for key in data if name != "verify" or "shard" not in data else ("schema_version", "reports"):
        assert not checker.is_valid({k: v for k, v in data.items() if k != key}), key


def test_another_name_is_one_line() -> None:
    with pytest.raises(TargetError, match="choose audit, bench"):
        read_schema("../cli")


def test_a_list_goes_into_a_file_beside_the_text(tmp_path: Path) -> None:
    for name in LISTS:
        run = CliRunner().invoke(main, [name, "--json", str(tmp_path / "a.json")])
        assert run.exit_code == 0 and json.loads((tmp_path / "a.json").read_text())[name][0]["name"] in run.output
        nowhere = CliRunner().invoke(main, [name, "--json", str(tmp_path / "none" / "a.json")])
        assert nowhere.exit_code == 2 and "cannot be written" in nowhere.output

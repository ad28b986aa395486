"""Reports as text.

Reports for the terminal: what stands where, and that words of a target are never taken for markup.
"""

from __future__ import annotations

import re
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from attention_core.conformance.first_look.findings import FirstLook
from attention_core.conformance.report.law_result import STATUSES, Counterexample, LawResult
from attention_core.conformance.report.ranking import SHOWN
from attention_core.conformance.report.render_text import (
    opening,
    print_replay,
    print_report,
    readable,
    remark,
    under_found_lines,
    verdict_line,
    verdict_remarks,
    verdict_table,
)
from attention_core.conformance.report.results import VERDICTS, Report, describe_search
from attention_core.conformance.subjects.outcomes import CHANGED
from attention_core.declaration.implementation import Implementation

MARKUP = "[bold]x[/bold][/nonsense] \\"
DECLARED = {"layout": "bhnd", "dtypes": ["float32"], "dead_rows": "zeros"}


def law(status: str, name: str = "law", **changes: Any) -> LawResult:
    found = Counterexample(name, f"message of {name}", "B=1", {}, "print(1)\n") if status == "refuted" else None
    return LawResult(name, status, 3, 0.5, found, f"message of {name}", **changes)


def printed(make: Any, width: int = 200) -> str:
    stream = StringIO()
    console = Console(file=stream, width=width, emoji=False)
    make(console)
    return stream.getvalue()


def shown(report: Report, **options: Any) -> str:
    return printed(lambda console: print_report(console, report, **options))


def test_the_opening_says_what_is_under_test() -> None:
    claims = {"scale": "tested", "attn_mask": "not tested: no such parameter", "dropout_p": "refused"}
    report = Report("f", DECLARED, claims, [law("held")], seed=3, effort="quick")
    assert opening(report) == [
        "f: conventions of torch; dtypes float32; effort quick, seed 3",
        "claims tested: scale; not tested: attn_mask (no such parameter); dropout_p (refused)",
    ]
    unusual = Report("f", DECLARED | {"dead_rows": "nan", "layout": "bnhd"}, isolated=False)
    assert opening(unusual)[0].startswith("f: layout=bnhd, dead_rows=nan; ")
    for layout, out, told in (("bnhd", "bhnd", "layout=bnhd, out_layout=bhnd;"), ("bhnd", "bhnd", "of torch;")):
        assert told in opening(Report("f", DECLARED | {"layout": layout, "out_layout": out}))[0]
    assert opening(unusual)[-1] == "ran in this process, without isolation"
    assert "claims tested: none; not tested: scale (why)" in opening(Report("f", DECLARED, {"scale": "why"}))


def test_a_snippet_with_a_whole_model_in_it_is_cut_where_people_read_it() -> None:
    whole = "import torch\nw = [" + "1.0, " * 3000 + "]\nassert w\n"
    found = law("refuted")
    found = LawResult(**{**vars(found), "counterexample": Counterexample("law", "m", "B=1", {}, whole)})
    report = Report("f", DECLARED, {}, [found])
    text = shown(report, details=True)
    assert len(text) < 3000 and "\n# w = [1.0, " in text and "assert w" in text
    assert "1 long line left out" in text and "attention-core replay" in text
    compile(readable(whole)[0], "what is copied", "exec")
    assert whole.rstrip() in shown(report, details=True, everything=True)
    short = Counterexample("law", "m", "B=1", {}, "w = [" + "1.0, " * 100 + "]\n")
    report.laws[0] = LawResult(**{**vars(found), "counterexample": short})
    assert short.snippet.rstrip() in shown(report, details=True) and "left out" not in shown(report, details=True)


LINES: list[tuple[dict[str, Any], str]] = [
    ({"laws": [law("held"), law("held", "b"), law("refused", "c")]}, "f: conforms (2 laws held on 6 problems, no counterexample; every case of 1 law was declined: c)"),
    ({"laws": [law("held"), law("known_failure", "b")]},
     "f: conforms (1 law held on 3 problems, no counterexample, 1 known failure)"),
    ({"laws": [law("refuted", "a"), law("held"), law("refuted", "b")]}, "f: refuted (a, b)"),
    ({"laws": [law("held")], "problem": "no core"}, "f: incomplete (no core)"),
    ({"laws": [law("held", minimum_met=False)]}, "f: incomplete (law: too few cases could be judged (3))"),
    ({"problem": "no such file", "failed": True}, "f: error (no such file)"),
    ({"unavailable": "needs a GPU"}, "f: error (cannot run here: needs a GPU)"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "line"), LINES)
def test_the_verdict_is_one_line_with_its_reason(changes: dict[str, Any], line: str) -> None:
    text = shown(Report("f", **changes))
    assert text.rstrip().splitlines()[-1] == line


def test_a_law_that_broke_the_suite_is_named_in_the_verdict() -> None:
    line = shown(Report("f", laws=[law("held"), law("error", "broken")])).splitlines()[-1]
    assert line.startswith("f: error (broken: message of broken")


@pytest.mark.parametrize("status", STATUSES)
def test_words_of_a_target_are_no_markup(status: str) -> None:
    found = Counterexample("law", MARKUP, MARKUP, {}, f"# {MARKUP}\n")
    report = Report(
        MARKUP, DECLARED | {"layout": MARKUP}, {"scale": MARKUP}, [LawResult("law", status, 1, 0.1, found, MARKUP)],
        problem=MARKUP, advice=[MARKUP], traceback=MARKUP,
    )  # fmt: skip
    text = shown(report, traceback=True)
    assert text.count(MARKUP) >= 4
    assert MARKUP in printed(lambda console: console.print(verdict_table([report])))


def test_a_few_counterexamples_are_written_out() -> None:
    names = [f"law_{letter}" for letter in "abcdefg"[: SHOWN + 2]]
    report = Report("f", laws=[law("refuted", name) for name in names])
    text = shown(report)
    for i, name in enumerate(names):
        assert (f"{name}: message of {name}" in text) == (i < SHOWN)
    assert text.count("print(1)") == SHOWN
    assert "and 2 more counterexamples" in text
    assert "print(1)" not in shown(report, details=False)


def test_what_the_advice_explains_is_shown_once() -> None:
    names = ["bool_and_additive_masks_agree", "dead_rows_are_as_declared", "mask_must_not_enlarge_the_result"]
    report = Report(
        "f", laws=[law("refuted", name) for name in names], advice=["consistent with --dead-rows nan"],
        explained=names[:2],
    )  # fmt: skip
    text = shown(report)
    order = [text.index(words) for words in (report.advice[0], f"{names[1]}: message of", f"{names[2]}: message of")]
    assert order == sorted(order)
    assert f"{names[0]}: message of" not in text
    assert "and 1 more counterexample:" in text


def test_the_same_news_is_told_once() -> None:
    found = [Counterexample(f"law_{c}", f"got shape ({i}, 1)", "B=1", {}, "print(1)") for i, c in enumerate("abc")]
    report = Report("f", laws=[LawResult(c.law, "refuted", 0, 0.1, c) for c in found])
    assert shown(report).count("print(1)") == 1
    assert shown(report, everything=True).count("print(1)") == 3


def test_an_exception_is_told_once_however_it_was_met() -> None:
    said = ["a valid call raised KeyError: 'x'", "3 keys with 2 values: got KeyError: 'x', but should be refused", "m"]
    found = [Counterexample(f"law_{c}", m, "B=1", {}, "print(1)") for c, m in zip("abc", said, strict=True)]
    text = shown(Report("f", laws=[LawResult(c.law, "refuted", 0, 0.1, c) for c in found]))
    assert "law_a: a valid" in text and "law_b: 3" not in text and "law_c: m" in text


def test_families_take_turns() -> None:
    laws = [law("refuted", f"law_{c}", family="causality" if c < "e" else "masking") for c in "abcdef"]
    text = shown(Report("f", laws=laws))
    assert [c for c in "abcdef" if f"law_{c}: message" in text] == ["a", "b", "e"]


def test_a_known_failure_is_one_line() -> None:
    found = Counterexample("b", "m", "B=1", {}, "print(1)\n")
    report = Report("f", laws=[law("held"), LawResult("b", "known_failure", 1, 0.1, found, "issue 12 [m]")])
    assert "known failure: b: issue 12 [m]" in shown(report)
    assert "print(1)" not in shown(report)


def test_laws_that_say_nothing_are_counted() -> None:
    silent = [LawResult(f"silent_{i}", "not_applicable", 0, 0.0, None, "scale not claimed") for i in range(2)]
    skipped = LawResult("late", "not_applicable", 0, 0.0, None, "not run: it hangs")
    report = Report("f", laws=[law("held"), *silent, skipped, law("refused", "declined")])
    text = shown(report)
    assert "2 laws not applicable (-v lists them): 2 x scale not claimed" in text
    assert "1 law not run (-v lists them): it hangs" in text
    assert "silent_0" not in text and "late" not in text and "\ndeclined " in text
    everything = shown(report, everything=True)
    assert "silent_0" in everything and "late" in everything and "-v" not in everything
    report.problem = "it declined a plain call, which every implementation should answer: f"
    assert "1 law declined every time (-v lists them): message of declined" in shown(report)
    assert "\ndeclined " not in shown(report)


def test_what_follows_from_a_write_into_an_input_is_counted() -> None:
    names = ("query_gradient_is_true", "inputs_stay_as_they_were", "two_batch_axes_are_a_batch")
    changed = f"{CHANGED} cotangent, but should leave inputs as they are"
    laws = [replace(law("refuted", name), message=changed) for name in names]
    text = shown(Report("f", DECLARED, {}, [law("held", "held"), *laws, law("refuted", "no_row_sees_a_later_one")]))
    assert f"2 laws refuted for the reason that another law shows (-v lists them): 2 x {changed}" in text
    assert names[1] in text and names[2] not in text
    assert "f: refuted (inputs_stay_as_they_were (2 other laws met the same), no_row_sees_a_later_one)" in text


def test_lines_are_whole_where_nobody_looks() -> None:
    long = "word " * 100
    text = printed(lambda console: print_report(console, Report("f", laws=[law("held", "a" * 60)], advice=[long])), 80)
    assert long.rstrip() in text
    assert re.search(r"^a+ +held +3 +0\.50", text, re.MULTILINE)  # long names are folded before numbers are


def test_quiet_is_the_verdict_alone() -> None:
    report = Report("f", laws=[law("refuted", "a")], advice=["advice"])
    assert shown(report, details=False) == "f: refuted (a)\n"


def test_tracebacks_are_shown_only_when_asked_for() -> None:
    report = Report("f", failed=True, problem="cannot be imported", traceback="Traceback: line 3")
    assert "line 3" not in shown(report)
    assert "line 3" in shown(report, traceback=True)


def test_the_table_has_a_row_for_every_target() -> None:
    reports = [
        Report("f", laws=[law("held"), law("refuted", "b"), law("known_failure", "c"), law("refused", "d")]),
        Report("g", unavailable="needs a GPU"),
    ]
    lines = printed(lambda console: console.print(verdict_table(reports))).splitlines()
    rows = [line.split() for line in lines if line.strip()[:2] in ("f ", "g ")]
    assert rows == [
        ["f", "refuted", "1", "1", "1", "1", "12", "2.0"],
        ["g", "not", "here", "0", "0", "0", "0", "0", "0.0"],
    ]


def test_a_long_target_keeps_its_name_in_a_narrow_table() -> None:
    name = "some/very/long/folder/name/that/goes/on/and/on/with/a/file/at/its/end.py:attention"
    text = printed(lambda console: console.print(verdict_table([Report(name, laws=[law("refuted")])])), 120)
    assert name in "".join(line.split()[0] for line in text.splitlines() if line.strip())
    assert "refuted" in text


def test_remarks() -> None:
    refuted = Report("f", laws=[law("refuted", f"law_{i}") for i in range(5)])
    assert remark(refuted) == "law_0, law_1, law_2 and 2 more"
    assert remark(refuted, "refuted") == "a labelled counterexample: law_0, law_1, law_2 and 2 more"
    assert remark(Report("f", unavailable="needs a GPU")) == "cannot run here: needs a GPU"
    assert remark(Report("f", laws=[law("held")], problem="no core")) == "no core"
    assert remark(Report("f", laws=[law("held"), law("known_failure", "b")])) == "known failure: b"
    assert remark(Report("f", laws=[law("held")])) == ""
    reports = [refuted, Report("g", laws=[law("held")])]
    assert verdict_remarks(reports, {"f": "refuted"}) == [
        "f: a labelled counterexample: law_0, law_1, law_2 and 2 more"
    ]


def test_every_verdict_and_status_has_a_style() -> None:
    from attention_core.conformance.report.render_text import STYLES

    assert set(STYLES) == {*STATUSES, *VERDICTS}
    assert describe_search([]) == "0 laws held on 0 problems, no counterexample"
    assert verdict_line(Report("f")).startswith("[yellow]f: incomplete")


def test_the_reasons_of_what_does_not_apply_add_up() -> None:
    reasons = ["a", "a", "a", "b", "b", "c", "d", "e"]
    laws = [LawResult(f"n{i}", "not_applicable", 0, 0.0, None, reason) for i, reason in enumerate(reasons)]
    text = shown(Report("f", laws=[law("held"), *laws]))
    assert "8 laws not applicable (-v lists them): 3 x a; 2 x b; c; 2 for other reasons" in text


def test_a_saved_case_passes_or_fails_and_is_no_verdict() -> None:
    passes = Report("mine.py:f", laws=[law("held")], partial=True)
    text = printed(lambda console: print_replay(console, passes))
    assert text.splitlines() == [
        "mine.py:f: the saved case passes now (law holds on it)",
        "for a verdict on the target, run attention-core verify mine.py:f",
    ]
    fails = printed(lambda console: print_replay(console, Report("f", laws=[law("refuted")], partial=True)))
    assert "f: refuted (law)" in fails and "passes" not in fails


def test_what_is_refuted_stands_at_the_top_of_the_table() -> None:
    laws = [law("held", "holds"), law("refused", "declined"), law("refuted", "broken"), law("error", "lost")]
    lines = shown(Report("f", laws=laws), everything=True).splitlines()
    first = [line.split()[0] for line in lines if line.split()[:1] and line.split()[0] in {one.law for one in laws}]
    assert first[:4] == ["broken", "lost", "declined", "holds"]


UNFIT = "it declined a plain call: UnfitBlock: the blocks of f do not fit these sizes; declare those that fit, e.g. "


@pytest.mark.parametrize("values", ["", " and d == d_v"])
def test_what_is_judged_under_conventions_found_is_tested_and_one_line_declares_it_all(values: str) -> None:
    look = FirstLook(("a kernel",), {"dead_rows": "nan", "gradients": False}, agrees=True)
    wrong = law("refuted")
    wrong.message = "out: got shape (1, 1, 1), but should be (1, 1, 2)" if values else "got 1, but should be 2"
    declared = Implementation(None, name="k.py:f", dead_rows="nan", gradients=False).as_dict()
    under = Report("k.py:f", declared, {"is_causal": "tested"}, [wrong], problem=f"{UNFIT}--sizes 'd in (16, 32, 64)'")
    report = Report("k.py:f", DECLARED, {"is_causal": "not tested: its laws were not run"}, [law("refuted")])
    report.first_look, report.under_found, report.untested = look, under, ["is_causal"]
    lines = "\n".join(opening(report))
    assert "claims tested (under the conventions found): is_causal; not tested: none" in lines
    assert "no law tests" not in lines
    line = under_found_lines(report)[1]
    options = f"--dead-rows nan --no-gradients --sizes 'd in (16, 32, 64){values}'"
    assert line == f"to declare them, and sizes that its blocks fit: attention-core verify k.py:f {options}"

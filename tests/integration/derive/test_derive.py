"""`attention-core derive` and `check_document`.

Documents go in as a user writes them, verdicts come out: through the command and through `check_document`.
The three examples of the specification are here in full; every test was seen to fail with a broken step.
"""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from attention_core.cli import main
from attention_core.derivation import DocumentReport, check_document
from attention_core.derivation import check as engine
from attention_core.derivation.check import read_document_anyhow

VARIANCE = r"""
Let $d \in \mathbb{N}$, $\mu \in \mathbb{R}^{1 \times d}$, $\sigma > 0$, and let
$q, k \sim \mathcal{N}(\mu, \sigma^2 I_d)$ be independent.
$$
\begin{aligned}
\operatorname{Var}[q k^\top]
  &= \sum_{i=1}^{d} \operatorname{Var}[q_i k_i] && \text{independent coordinates} \\
  &= \sum_{i=1}^{d} \left(\sigma^4 + 2\mu_i^2\sigma^2\right)
\end{aligned}
$$
"""

EXTRACTION = r"""
Let $d, m, p \in \mathbb{N}$, $A \in \mathbb{R}^{d \times m}$, $B \in \mathbb{R}^{d \times p}$, $x \in \mathbb{R}^{m}$,
$y \in \mathbb{R}^{p}$ with $A^\top A = I_m$ and $A^\top B = 0$. Put $v_a := A x$, $v_b := B y$ and $M := 2 A A^\top$.
$$ M \tfrac{1}{2}(v_a + v_b) = A A^\top A x + A A^\top B y = v_a $$
"""

AVERAGE = r"""
Let $n \in \mathbb{N}$, $n \ge 3$, $S > 0$, $R > 0$, $v_a, v_b, v_r \in \mathbb{R}$ with $|v_a| \le R$, $|v_b| \le R$, $|v_r| \le R$.
Put $w := \frac{1}{2 + (n-2) e^{-S}}$ and $o := w (v_a + v_b) + (n-2) e^{-S} w v_r$.
$$
\left| o - \tfrac{1}{2}(v_a + v_b) \right|
  = \frac{(n-2) e^{-S}}{2 + (n-2) e^{-S}} \left| v_r - \tfrac{1}{2}(v_a + v_b) \right|
  \le (n-2) e^{-S} R
$$
"""

GOOD = {"PROVED", "EXACT", "AGREES"}


def verdicts(report: DocumentReport) -> list[str]:
    return [str(step.verdict) for step in report.steps]


@pytest.mark.parametrize("text", [VARIANCE, EXTRACTION, AVERAGE], ids=["variance", "extraction", "average"])
def test_the_examples_hold(text: str) -> None:
    report = check_document(text)
    assert len(report.steps) == 2
    assert set(verdicts(report)) <= GOOD, [(s.line, s.verdict, s.evidence.text) for s in report.steps]
    assert report.passed and report.status == 0


@pytest.mark.thorough(one_for="text")
@pytest.mark.parametrize(
    ("text", "old", "new", "step"),
    [
        (VARIANCE, r"2\mu_i^2\sigma^2", r"\mu_i^2\sigma^2", 1),
        (VARIANCE, r"\sigma^4 + 2", r"\sigma^2 + 2", 1),
        (VARIANCE, r"\sum_{i=1}^{d} \left(", r"\sum_{i=2}^{d} \left(", 1),
        (EXTRACTION, r"M := 2 A A^\top", r"M := A A^\top", 0),
        (EXTRACTION, r" and $A^\top B = 0$", "", 1),
        (EXTRACTION, r"with $A^\top A = I_m$ and $", r"with $", 1),
        (AVERAGE, r"\frac{(n-2) e^{-S}}{2 +", r"\frac{(n-1) e^{-S}}{2 +", 0),
        (AVERAGE, r"\le (n-2) e^{-S} R", r"\le \frac{1}{3} (n-2) e^{-S} R", 1),
        (AVERAGE, r", $|v_r| \le R$", "", 1),
    ],
)
def test_a_broken_example_is_refuted_at_a_small_case(text: str, old: str, new: str, step: int) -> None:
    assert old in text
    found = check_document(text.replace(old, new)).steps[step]
    assert found.verdict == "REFUTED", (found.verdict, found.evidence.text)
    assert found.counterexample is not None
    sizes = [v for k, v in found.counterexample.values.items() if k in "dmpn"]
    assert sizes and max(sizes) <= 3
    assert found.counterexample.left != found.counterexample.right


def test_shapes_that_do_not_fit_are_refuted_even_where_one_dimension_would_fit() -> None:
    text = "Let $d \\in \\mathbb{N}$, $q, k \\in \\mathbb{R}^{d}$.\n\n$$ q k^\\top = \\sum_{i=1}^{d} q_i k_i $$\n"
    (alone,) = check_document(text).steps
    assert alone.verdict == "AMBIGUOUS" and "vectors as rows" in alone.evidence.text
    step, _ = check_document(text + "\n$$ q^\\top k = \\sum_{i=1}^{d} q_i k_i $$\n").steps  # here vectors are columns
    assert step.verdict == "REFUTED"
    assert "a d x d matrix and a number cannot be compared" in step.evidence.text


def test_independence_is_said_and_never_assumed() -> None:
    (first, _) = check_document(VARIANCE.replace(" be independent", "")).steps
    assert first.verdict == "UNDECIDED"
    assert "independent" in first.evidence.text


def test_the_command_writes_json_and_ends_with_the_status(tmp_path: Path) -> None:
    good, bad, odd = (tmp_path / name for name in ("good.md", "bad.md", "odd.md"))
    good.write_text(AVERAGE, encoding="utf-8")
    bad.write_text(AVERAGE.replace("n-2) e^{-S} R", "n-2) e^{-S} R / 9"), encoding="utf-8")
    odd.write_text("$$ x = 1 $$\n", encoding="utf-8")
    run = CliRunner().invoke(main, ["derive", "--seconds", "120", str(good), "--json"])
    assert run.exit_code == 0, run.output
    (document,) = json.loads(run.output)["documents"]
    assert document["file"] == str(good)
    assert [s["line"] for s in document["steps"]] == [6, 7]
    assert {"id", "line", "text", "verdict", "evidence", "counterexample", "seconds"} <= set(document["steps"][0])
    assert CliRunner().invoke(main, ["derive", "--seconds", "120", str(bad)]).exit_code == 1
    assert CliRunner().invoke(main, ["derive", "--seconds", "120", str(odd)]).exit_code == 2
    assert CliRunner().invoke(main, ["derive", "--seconds", "120", str(odd), str(bad)]).exit_code == 1
    missing = CliRunner().invoke(main, ["derive", str(tmp_path / "none.md")])
    assert missing.exit_code == 2 and "none.md cannot be read: No such file or directory" in missing.output


def test_the_text_shows_the_line_both_sides_and_the_values(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("Let $x \\in \\mathbb{R}$.\n\n$$ (x + 1)^2 = x^2 + 1 \\tag{square} $$\n", encoding="utf-8")
    run = CliRunner().invoke(main, ["derive", "--seconds", "120", str(path)])
    assert run.exit_code == 1
    assert "3  REFUTED  square" in run.output
    assert "4 is not 2 at x = 1" in run.output
    assert "0 of 1 steps are as the document says" in run.output


def test_refutation_may_be_expected() -> None:
    text = "Let $x \\in \\mathbb{R}$.\n\n% expect: refuted\n\n$$ (x + 1)^2 = x^2 + 1 $$\n"
    assert check_document(text).status == 0
    true = text.replace("x^2 + 1", "x^2 + 2x + 1")
    assert check_document(true).status == 1


def test_only_chooses_steps_by_name() -> None:
    text = "Let $x \\in \\mathbb{R}$.\n\n$$ x = x \\tag{a} $$\n\n$$ x = 2 x \\tag{b} $$\n"
    assert verdicts(check_document(text, only=["b"])) == ["REFUTED"]
    assert check_document(text, only=["a"]).status == 0
    assert check_document(text, only=["c"]).status == 2


def test_explain_and_necessity_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(EXTRACTION, encoding="utf-8")
    run = CliRunner().invoke(main, ["derive", "--seconds", "120", str(path), "--explain", "--necessity"])
    assert run.exit_code == 0, run.output
    assert "A: a d x m matrix" in run.output
    assert "M is defined as 2 A A^\\top, a d x d matrix" in run.output
    assert "A^\\top B = 0 (line 3): needed: without it the step fails at" in run.output
    assert "A^\\top B = 0 (line 3): not shown to be needed" in run.output


def test_a_page_that_cannot_be_written_is_no_refutation(tmp_path: Path) -> None:
    document = tmp_path / "right.md"
    document.write_text("$$ 1 = 1 $$\n")
    result = CliRunner().invoke(main, ["derive", str(document), "--html", str(tmp_path / "none" / "x.html")])
    assert result.exit_code == 2
    assert "cannot be written: there is no folder" in result.output and "Traceback" not in result.output


@pytest.mark.parametrize("output", [["--html", "a.md"], ["--json", "a.rst"], ["--html", "b.md"], ["--html", "./a.rst"]])
def test_a_report_does_not_take_the_place_of_a_document(
    output: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.md", "b.md", "a.rst"):
        Path(name).write_text("$$ 1 = 1 $$\n", encoding="utf-8")
    run = CliRunner().invoke(main, ["derive", *output, "a.md", "a.rst"])
    assert run.exit_code == 2 and "would write over a document" in run.output
    assert {Path(name).read_text(encoding="utf-8") for name in ("a.md", "b.md", "a.rst")} == {"$$ 1 = 1 $$\n"}


def test_the_line_that_is_not_utf8_and_all_names_that_there_are_are_told(tmp_path: Path) -> None:
    document = tmp_path / "latin.md"
    document.write_bytes(b"One.\n\nTwo \xe9.\n")
    (step,) = check_document(document).steps
    assert step.line == 3 and "in line 3" in step.evidence.text
    (step,) = check_document("$$ 1 = 1 $$\n\n" * 15, only=["nope"]).steps
    assert step.evidence.text.endswith(" and 3 more: name one of them")


LATIN = "\\usepackage[latin1]{inputenc}\n\nDonnée.\n\nLet $x \\in \\mathbb{R}$.\n\n\\[ x + x = 2x \\]\n"


@pytest.mark.parametrize(
    ("codec", "mark"), [("latin-1", b""), ("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")]
)  # fmt: skip
def test_what_one_door_reads_all_read(tmp_path: Path, codec: str, mark: bytes) -> None:
    document, page = tmp_path / "a.tex", tmp_path / "a.html"
    document.write_bytes(mark + LATIN.encode(codec))
    assert [str(step.verdict) for step in check_document(document).steps] == ["PROVED"]
    assert run_command(str(document), "--html", str(page))[0] == 0
    assert "Donnée" in page.read_text(encoding="utf-8")
    assert run_command("--scaffold", str(document)) == (0, f"{document}\nevery symbol is declared\n")
    assert read_document_anyhow(document) == LATIN


@pytest.mark.parametrize("options", [(), ("--scaffold",), ("--html", "a.html"), ("--strict",)])
def test_what_declares_no_encoding_gets_one_line_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.tex").write_bytes(LATIN.replace("latin1", "T1").replace("inputenc", "fontenc").encode("latin-1"))
    status, output = run_command("a.tex", *options)
    assert status == 2 and output.count("not UTF-8") == 1
    assert "in line 3) and declares no encoding; it looks like CP1252: save it as UTF-8, or convert it: iconv" in output


def run_command(*arguments: str) -> tuple[int, str]:
    """Exit status and output of `attention-core derive`."""
    result = CliRunner().invoke(main, ["derive", *arguments])
    return result.exit_code, result.output


@pytest.mark.parametrize("text", ["", "Some prose.\n", "\ufeff"])
def test_a_document_without_a_display_gets_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "empty.md"
    path.write_text(text, encoding="utf-8")
    status, output = run_command(str(path))
    assert status == 2
    words = "the document has no display: write what it claims between $$ and $$"
    assert output.splitlines() == [str(path), f"  UNREADABLE  {words}"]


def test_a_name_that_no_step_has_gets_one_line(tmp_path: Path) -> None:
    path = tmp_path / "one.md"
    path.write_text("$$ 1 = 1 \\tag{a} $$\n", encoding="utf-8")
    status, output = run_command("--only", "nothere", str(path))
    assert status == 2
    assert output.splitlines() == [str(path), "  UNREADABLE  no step is named nothere; there are a: name one of them"]


def test_the_name_of_a_step_at_another_place_names_the_option_for_it(tmp_path: Path) -> None:
    path = tmp_path / "one.md"
    path.write_text("$$ 1 = 1 \\tag{a} $$\n", encoding="utf-8")
    status, output = run_command("--step", "a", str(path))
    assert status == 2 and "--step is not an option: --only a checks that step" in output
    status, output = run_command("--explain", "a", str(path))
    assert (
        status == 2
        and "a cannot be read: No such file or directory; if it is the name of a step, write --only a" in output
    )
    assert "write --only" not in run_command("none.md")[1]


def test_declarations_of_a_document_without_displays_are_not_written(tmp_path: Path) -> None:
    for text, words in (("", "the document has no display"), ("$$ 1 = 1 $$\n", "every symbol is declared")):
        path = tmp_path / "one.md"
        path.write_text(text, encoding="utf-8")
        status, output = run_command("--scaffold", str(path))
        assert status == 0 and words in output


def test_a_name_that_no_step_has_is_said_beside_one_that_a_step_has(tmp_path: Path) -> None:
    path = tmp_path / "one.md"
    path.write_text("$$ 1 = 1 \\tag{a} $$\n", encoding="utf-8")
    status, output = run_command("--only", "a", "--only", "nothere", str(path))
    assert status == 2
    assert "no step is named nothere; there are a" in output
    assert "1 of 1 steps are as the document says" in output


def test_only_finds_its_step_in_any_of_several_documents(tmp_path: Path) -> None:
    paths = []
    for name in ("a", "b"):
        paths.append(tmp_path / f"{name}.md")
        paths[-1].write_text(f"$$ 1 = 1 \\tag{{{name}}} $$\n", encoding="utf-8")
    status, output = run_command("--only", "b", *map(str, paths))
    assert status == 0
    assert "no step is named" not in output
    assert run_command("--only", "c", *map(str, paths))[0] == 2


def test_the_annotation_of_a_document_without_a_display_names_the_file_alone(tmp_path: Path) -> None:
    document = tmp_path / "words.md"
    document.write_text("Just words.\n", encoding="utf-8")
    run = CliRunner().invoke(main, ["derive", str(document), "--github"])
    lines = run.output.splitlines()
    words = "the document has no display: write what it claims between $$ and $$"
    assert f"::warning title=UNREADABLE,file={document}::{words}" in lines


OPEN = "Some labels are alike.\n\n$$ (a + b)^2 = a^2 + b^2 $$\n"
SLIP = "Some labels are alike.\n\n$$ \\sum_{i=1}^m y_i w = w \\sum_{i=1}^m y_1 $$\n"
WRONG = "$$ 2 + 2 = 5 $$\n"


@pytest.mark.parametrize(
    ("text", "statuses"), [(OPEN, [2, 0, 0]), (SLIP, [2, 1, 0]), (WRONG, [1, 1, 1]), ("$$ 2 = 2 $$\n", [0, 0, 0])]
)
def test_what_counts_against_a_document_is_chosen(text: str, statuses: list[int], tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text(text, encoding="utf-8")
    runs = [
        CliRunner().invoke(main, ["derive", "--quiet", "--github", "--fail-on", level, str(path)])
        for level in ("open", "slip", "refuted")
    ]
    assert [run.exit_code for run in runs] == statuses
    assert ["file=" in run.output for run in runs] == [status > 0 for status in statuses]  # the annotations
    assert ["line-" in run.output for run in runs] == [status > 0 for status in statuses]  # the steps


def test_less_than_is_required_counts_at_every_level(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text("Let $x \\in \\mathbb{R}$.\n\n$$ e^x \\ge 1 + x $$\n", encoding="utf-8")
    arguments = ["derive", "--require", "proved", "--fail-on", "refuted", str(path)]
    assert CliRunner().invoke(main, arguments).exit_code == 1


@pytest.mark.parametrize(
    ("name", "content"), [("a.md", b""), ("a.md", b"\xff$$ 1 = 1 $$"), ("a.ipynb", b"no notebook")]
)
def test_a_document_of_which_nothing_is_checked_counts_at_every_level(
    name: str, content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    for level in ("open", "slip", "refuted"):
        assert CliRunner().invoke(main, ["derive", "--fail-on", level, str(path)]).exit_code == 2
    path = tmp_path / "b.md"
    path.write_text("$$ 1 = 1 $$\n", encoding="utf-8")
    assert CliRunner().invoke(main, ["derive", "--fail-on", "slip", "--only", "mistyped", str(path)]).exit_code == 2


@pytest.mark.parametrize("text", [OPEN, SLIP])
def test_what_was_read_counts_as_declared_once_a_person_has_looked_at_it(text: str, tmp_path: Path) -> None:
    path, page = tmp_path / "notes.md", tmp_path / "page.html"
    path.write_text(text, encoding="utf-8")
    assert CliRunner().invoke(main, ["derive", str(path)]).exit_code == 2
    run = CliRunner().invoke(main, ["derive", "--as-read", "--html", str(page), str(path)])
    assert run.exit_code == 1 and "REFUTED" in run.output and "read as: " in run.output
    assert r"\mathbb{N}" not in page.read_text(encoding="utf-8").split("</article>")[0].split("read as: ")[1][:500]
    run = CliRunner().invoke(main, ["derive", "--as-read", "--strict", str(path)])
    assert run.exit_code == 2 and "--strict reads no undeclared symbols" in run.output


@pytest.mark.parametrize("text", ["", " "])
def test_a_blank_text_is_a_document_without_a_display(text: str) -> None:
    (step,) = check_document(text).steps
    assert step.verdict == "UNREADABLE" and "the document has no display" in step.evidence.text


def test_the_door_has_the_options_of_the_engine() -> None:
    options = inspect.signature(check_document).parameters
    meant = inspect.signature(engine.check_document).parameters
    assert {name: one.default for name, one in options.items()} == {name: one.default for name, one in meant.items()}
    assert all(f"{name}: " in (check_document.__doc__ or "") for name in options)
    with pytest.raises(ValueError, match="require is 'exact' or 'proved', not 'good'"):
        check_document("$$ 1 = 1 $$", require="good")


WRONG = "Let $x \\in \\mathbb{R}$.\n\n$$ x + 1 = x \\tag{wrong} $$\n"


@pytest.mark.parametrize("options", [(), ("--only", "wrong"), ("--json",), ("--html", "page.html")])
def test_a_dash_is_standard_input(options: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = CliRunner().invoke(main, ["derive", "-", *options], input=WRONG)
    assert run.exit_code == 1 and "<stdin>" in run.output and "REFUTED" in run.output
    if "--html" in options:
        assert "wrong" in Path("page.html").read_text()


def test_a_closed_standard_input_is_an_error_of_one_line() -> None:
    command = [sys.executable, "-c", "from attention_core.cli import main; main()", "derive", "-"]
    run = subprocess.run(["sh", "-c", 'exec "$@" <&-', "sh", *command], capture_output=True, text=True, check=False)
    assert run.returncode == 2 and len(run.stderr.splitlines()) == 1 and "standard input is closed" in run.stderr


def test_standard_input_is_decoded_declared_and_not_watched() -> None:
    run = CliRunner().invoke(main, ["derive", "-"], input=b"\xff\xfe$\x00x")
    assert run.exit_code == 2 and "standard input cannot be read: " in run.output and "Traceback" not in run.output
    run = CliRunner().invoke(main, ["derive", "--scaffold", "-"], input="$$ y + y = 2 y $$")
    assert run.exit_code == 0 and "Let $y" in run.output
    run = CliRunner().invoke(main, ["derive", "--watch", "-"])
    assert run.exit_code == 2 and "leave out" in run.output


def test_github_gets_annotations_and_a_summary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wrong.md").write_text(WRONG)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    status, output = run_command("--github", "wrong.md", "gone.md")
    assert status == 1 and "::error title=attention-core::gone.md cannot be read: " in output
    assert "::error title=REFUTED%3A wrong,file=wrong.md,line=3::" in output
    assert "| 3 | REFUTED |" in Path("summary.md").read_text()
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    Path("right.md").write_text("$$ 1 + 1 = 2 $$\n")
    status, output = run_command("--github", "right.md")
    assert status == 2 and "the summary of the step cannot be written" in output

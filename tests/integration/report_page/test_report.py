"""`attention-core report` from files that commands wrote, to a page that a browser shows without complaint."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from attention_core.cli import main
from attention_core.conformance.report.law_result import Counterexample, LawResult
from attention_core.conformance.report.results import Report, to_json
from attention_core.html_page import STYLE, render_page

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), ""
)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    found = Counterexample("a_law", "got 1, but should be 2", "B=1 H=1", {}, "assert 1 == 2  # <b>")
    laws = [LawResult("a_law", "refuted", 7, 0.25, found), *(LawResult(f"law_{k}", "held", 9, 1.5) for k in range(20))]
    (tmp_path / "v.json").write_text(to_json([Report("f", {"dtypes": ["float32"]}, laws=laws)]), encoding="utf-8")
    (tmp_path / "a.md").write_text("Let $x \\in \\mathbb{R}$.\n\n$$ x + x = 2 x $$\n", encoding="utf-8")
    run = CliRunner().invoke(main, ["derive", str(tmp_path / "a.md"), "--json", str(tmp_path / "d.json")])
    assert run.exit_code == 0 and "PROVED" in run.output
    records = [{"step": k, "loss": 1 / (k + 1)} for k in range(9)]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return [str(tmp_path / name) for name in ("metrics.jsonl", "v.json", "d.json")]


def test_the_command_joins_files_into_a_page(tmp_path: Path, files: list[str]) -> None:
    out = tmp_path / "page.html"
    run = CliRunner().invoke(main, ["report", *files, "--out", str(out), "--title", "Mine <b>"])
    assert run.exit_code == 0 and "3 parts" in run.output
    page = out.read_text(encoding="utf-8")
    titles = re.findall(r'<h2 id="head-\d">([^<]*)', page)
    assert titles == ["Is this attention right? ", "Is what was derived true? ", "How did the training go? "]
    assert "something is wrong in 1 of 3 parts" in page and "Mine &lt;b&gt;" in page and "<b>" not in page
    assert "http" not in re.sub('http-equiv|xmlns="http://www.w3.org/2000/svg"', "", page)


def test_the_verdicts_are_written_for_programs(tmp_path: Path, files: list[str]) -> None:
    out, verdicts = tmp_path / "page.html", tmp_path / "page.json"
    run = CliRunner().invoke(main, ["report", *files, "--out", str(out), "--json", "-"])
    data = json.loads(run.stdout)
    assert run.exit_code == 0 and "3 parts" in run.stderr and data["verdict"] == "something is wrong in 1 of 3 parts"
    assert [(part["kind"], part["state"]) for part in data["parts"]] == [
        ("verify", "bad"), ("derive", "good"), ("training", "plain")
    ]  # fmt: skip
    run = CliRunner().invoke(main, ["report", *files, "--out", str(out), "--json", str(verdicts)])
    assert run.exit_code == 0 and json.loads(verdicts.read_text(encoding="utf-8")) == data
    run = CliRunner().invoke(main, ["report", *files, "--out", str(out), "--json", str(out)])
    assert run.exit_code == 2 and "name one file" in run.output


def test_what_cannot_be_done_is_one_line(tmp_path: Path, files: list[str]) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('{"grades": [3]}', encoding="utf-8")
    for given, words in (
        ([str(broken)], "does not hold"),
        ([str(tmp_path / "none.json")], "cannot be read"),
        ([files[1], "--out", str(tmp_path / "none" / "a.html")], "cannot be written"),
        ([*files, "--out", files[1]], "would overwrite"),
    ):
        run = CliRunner().invoke(main, ["report", *given])
        assert run.exit_code == 2 and words in run.output and run.output.count("\n") == 1


def test_json_of_derive_goes_where_it_is_told(tmp_path: Path, files: list[str]) -> None:
    document = str(tmp_path / "a.md")
    for words in (["derive", document, "--json"], ["derive", "--json", document], ["derive", document, "--json", "-"]):
        run = CliRunner().invoke(main, words)
        assert run.exit_code == 0 and json.loads(run.output)["documents"][0]["file"] == document
    assert Path(document).read_text(encoding="utf-8").startswith("Let")
    missing = CliRunner().invoke(main, ["derive", "--json"])
    assert missing.exit_code == 2 and "Missing argument" in missing.output
    nowhere = CliRunner().invoke(main, ["derive", document, "--json", str(tmp_path / "none" / "a.json")])
    assert nowhere.exit_code == 2 and "cannot be written" in nowhere.output


def test_a_schema_is_printed() -> None:
    assert "verify" in CliRunner().invoke(main, ["schema"]).output.split()
    assert json.loads(CliRunner().invoke(main, ["schema", "grade"]).output)["required"]


@pytest.mark.skipif(not CHROMIUM, reason="needs Chromium: without a browser nobody sees whether the script runs")
def test_a_browser_runs_the_script_and_nothing_else(tmp_path: Path, files: list[str]) -> None:
    out = tmp_path / "page.html"
    assert CliRunner().invoke(main, ["report", *files, "--out", str(out)]).exit_code == 0
    text = out.read_text(encoding="utf-8").replace("</main>", '<script>document.title = "hostile"</script></main>')
    out.write_text(text, encoding="utf-8")
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", f"--user-data-dir={tmp_path}/c"]
    seen = subprocess.run([*command, out.as_uri()], capture_output=True, text=True, timeout=120, check=True).stdout
    assert seen.count("<button") == 1 and seen.count('type="search"') == 1
    assert "<title>attention-core report</title>" in seen


@pytest.mark.skipif(not CHROMIUM, reason="needs Chromium: it lays the table out")
def test_a_phone_shows_rows_of_a_few_lines(tmp_path: Path) -> None:
    """A sentence in the last of five columns, off the screen, made its row taller than the screen."""
    heads = [("law", ""), ("status", ""), ("problems", "number"), ("seconds", "number"), ("why", "")]
    why = (
        "output where one key leads, at scores of 2^20: got 1 at [0, 0, 0, 0], but should be 2 (allowed error 2.03e-06)"
    )
    row = [("a_leading_key_is_copied", ""), ("refuted", ""), ("2", "number"), ("0.03", "number"), (why, "")]
    measure = 'document.title = `${innerWidth} ${document.querySelector("td").offsetHeight}`;'
    page = tmp_path / "page.html"
    page.write_text(render_page("a", STYLE, "{{ table(heads, rows) }}", script=measure, heads=heads, rows=[row]))
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", "--window-size=390,800"]
    command += [f"--user-data-dir={tmp_path}/c", page.as_uri()]
    seen = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    width, height = map(int, re.findall(r"<title>(\d+) (\d+)</title>", seen)[0])
    assert width <= 500 and height < 6 * 23, "a line is 22.5 pixels tall"


@pytest.mark.skipif(not CHROMIUM, reason="needs Chromium: it lays the table out")
def test_a_phone_breaks_a_long_name_behind_an_underscore(tmp_path: Path) -> None:
    """Between any two letters it was: "coinciding_size" and "s_are_not_confused"."""
    name = "coinciding_sizes_are_not_confused_and_every_length_around_blocks_is_right"
    measure = """
      const cell = document.querySelector("td"), lines = new Map(), range = document.createRange();
      const walk = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
      while (walk.nextNode()) for (let k = 0; k < walk.currentNode.length; k++) {
        range.setStart(walk.currentNode, k); range.setEnd(walk.currentNode, k + 1);
        const top = Math.round(range.getClientRects()[0].top);
        lines.set(top, (lines.get(top) ?? "") + walk.currentNode.data[k]);
      }
      document.title = [...lines.values()].join(" ");
    """
    page = tmp_path / "page.html"
    heads, rows = [("target", ""), ("verdict", ""), ("in short", "")], [[(name, ""), ("refuted", ""), (name, "")]]
    page.write_text(render_page("a", STYLE, "{{ table(heads, rows) }}", script=measure, heads=heads, rows=rows))
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", "--window-size=390,800"]
    command += [f"--user-data-dir={tmp_path}/c", page.as_uri()]
    seen = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    lines = re.findall(r"<title>(.*?)</title>", seen)[0].split()
    assert "".join(lines) == name and len(lines) > 2 and all(line.endswith("_") for line in lines[:-1]), lines


@pytest.mark.skipif(not CHROMIUM, reason="needs Chromium: it lays the page out")
@pytest.mark.parametrize("command", ["derive", "report"])
def test_a_phone_shows_verdict_and_evidence_of_a_step_beside_no_long_formula(tmp_path: Path, command: str) -> None:
    """A formula wider than the screen had carried both off it."""
    document, page, data = tmp_path / "a.md", tmp_path / "a.html", tmp_path / "a.json"
    terms = " + ".join(f"{k} x^{{{k}}}" for k in range(2, 16))
    document.write_text(f"Let $x \\in \\mathbb{{R}}$.\n\n$$ {terms} = {terms} + x^2 $$\n", encoding="utf-8")
    run = CliRunner().invoke(main, ["derive", str(document), "--json", str(data), "--html", str(page)])
    assert run.exit_code == 1 and "REFUTED" in run.output
    if command == "report":
        assert CliRunner().invoke(main, ["report", str(data), "--out", str(page)]).exit_code == 0
    measure = """
      const walk = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT), ends = [];
      while (walk.nextNode()) {
        const here = walk.currentNode, range = document.createRange();
        if (!here.data.trim() || here.parentElement.closest("math, details > pre")) continue;
        range.selectNodeContents(here); ends.push(range.getBoundingClientRect().right);
      }
      document.title = `${innerWidth} ${Math.ceil(Math.max(...ends))}`;
    """
    text = re.sub("<meta http-equiv[^>]*>", "", page.read_text(encoding="utf-8"))
    page.write_text(text.replace("</body>", f"<script>{measure}</script></body>"), encoding="utf-8")
    words = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", "--window-size=390,800"]
    words += [f"--user-data-dir={tmp_path}/c", page.as_uri()]
    seen = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True).stdout
    width, right = map(int, re.findall(r"<title>(\d+) (\d+)</title>", seen)[0])
    assert right <= width <= 500

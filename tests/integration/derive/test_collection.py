"""pytest derivations, pytest notes.md, pytest notes.md::step.

Documents as pytest meets them: pytest in a process of its own, over a folder with good, wrong and odd documents.
What a step's verdict is, is tested elsewhere; here it is what becomes of the verdict.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import attention_core
from attention_core.derivation import check_document
from attention_core.derivation.collection import describe_failure, matches

HOME = Path(attention_core.__file__).parents[1]
GOOD = r"""# Squares

Let $x, y \in \mathbb{R}$.

$$
\begin{aligned}
(x + y)^2 &= (x + y)(x + y) \\
  &= x^2 + 2 x y + y^2 \tag{square}
\end{aligned}
$$

% expect: refuted

$$ (x + y)^2 = x^2 + y^2 \tag{dream} $$
"""
WRONG = r"""Let $x \in \mathbb{R}$.

$$ (x + 1)^2 = x^2 + 1 \tag{wrong} $$

% expect: refuted

$$ x + x = 2 x \tag{claimed-wrong} $$

$$ x + z = x \tag{undeclared} $$
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("documents")
    for name, text in {
        "derivations/good.md": GOOD,
        "derivations/deeper/other.md": WRONG,
        "derivations/deeper/good.md": GOOD,
        "notes/wrong.md": WRONG,
        "README.md": "A page without formulas.\n",
        "derivations/empty.md.txt": "",
        "pytest.ini": "[pytest]\nxfail_strict = true\nderivation_files = derivations/*.md\n",
        "test_nothing.py": "def test_nothing(): pass\n",
    }.items():
        (found / name).parent.mkdir(parents=True, exist_ok=True)
        (found / name).write_text(text, encoding="utf-8")
    return found


def run_pytest(folder: Path, *arguments: str, as_installed: bool = False) -> subprocess.CompletedProcess[str]:
    """Pytest in a process of its own: with all plugins that are installed, or with ours alone, which starts three times as fast."""
    path = os.pathsep.join(filter(None, [str(HOME), os.environ.get("PYTHONPATH", "")]))
    found = as_installed and any(entry.name == "attention_core" for entry in entry_points(group="pytest11"))
    own = [] if found else ["-p", "attention_core.plugin"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    environment |= {} if as_installed else {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        [sys.executable, "-m", "pytest", *own, "-p", "no:cacheprovider", "--color=no", "-o", "derivation_seconds=120", *arguments],
        cwd=folder, capture_output=True, text=True, timeout=300, check=False,
        env={**environment, "PYTHONPATH": path, "COLUMNS": "160"},
    )  # fmt: skip


def test_the_ini_option_says_which_files_are_documents(folder: Path) -> None:
    run = run_pytest(folder, "-v", "-rx", as_installed=True)
    assert run.returncode == 0, run.stdout
    names = {line.split()[0] for line in run.stdout.splitlines() if "::" in line and "%]" in line}
    assert names == {
        "derivations/good.md::square[1]", "derivations/good.md::square[2]", "derivations/good.md::dream",
        "test_nothing.py::test_nothing",
    }  # fmt: skip
    assert "3 passed, 1 xfailed" in run.stdout
    assert "as the document says: 4 is not 2" in run.stdout
    elsewhere = run_pytest(folder, "-q", "-o", "derivation_files=notes/*.md derivations/**/other.md")
    assert elsewhere.returncode == 1 and "6 failed, 1 passed" in elsewhere.stdout


@pytest.fixture(scope="module")
def derived(folder: Path) -> subprocess.CompletedProcess[str]:
    """A folder and a file that are named, with the report that a service reads."""
    return run_pytest(
        folder, "--attention-derive", "derivations", "notes/wrong.md", "--junit-xml=j.xml", "-o", "junit_family=xunit1"
    )


def test_a_named_file_is_collected_and_a_step_by_its_name(
    folder: Path, derived: subprocess.CompletedProcess[str]
) -> None:
    run = derived
    assert run.returncode == 1 and "3 failed, 2 passed, 1 xfailed" in run.stdout
    assert "wrong.md:3: REFUTED" in run.stdout and "left side: 4; right side: 2" in run.stdout
    assert "PROVED, but the document expects" in run.stdout or "AGREES, but the document expects" in run.stdout
    assert "wrong.md:9: UNREADABLE" in run.stdout and "z is not declared" in run.stdout
    assert "Traceback" not in run.stdout
    named = (
        "-o",
        "derivation_files=derivations/**/*.md",
        "derivations/good.md::square",
        "derivations/deeper/good.md::square[2]",
    )
    steps = run_pytest(folder, *named, "-v")
    assert steps.returncode == 0 and "3 passed" in steps.stdout
    assert steps.stdout.count("good.md::square[2] ") == 2 and steps.stdout.count("good.md::square[1] ") == 1
    for named in (["--attention-derive", "README.md"], ["notes/wrong.md"]):
        assert run_pytest(folder, *named).returncode == pytest.ExitCode.USAGE_ERROR


UNDECLARED = "$$ (x + y)^2 = x^2 + 2 x y + y^2 \\tag{square} $$\n\n$$ x^2 = x^2 + 1 \\tag{wrong} $$\n"


def test_undeclared_symbols_are_read_where_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text(UNDECLARED)
    strict = run_pytest(tmp_path, "--attention-derive", "notes.md")
    assert strict.returncode == 1 and "2 failed" in strict.stdout and "x is not declared" in strict.stdout
    # With CI set, pytest repeats each message whole in its summary.
    failures = strict.stdout.split("FAILURES")[1].split("short test summary")[0]
    assert failures.count("as `attention-core derive` does: --attention-derive-infer") == 2
    for asked in (["--attention-derive-infer"], ["-o", "derivation_infer=true"]):
        inferring = run_pytest(tmp_path, "--attention-derive", *asked, "notes.md")
        assert inferring.returncode == 1 and "1 failed, 1 passed" in inferring.stdout
        assert "--attention-derive-infer" not in inferring.stdout.split("FAILURES")[1]


CHEMISTRY = "# Le Chatelier\n\n$$ 2 H_2 + O_2 = 2 H_2 O $$\n\n    >>> 1 + 1\n    2\n"


def test_a_project_that_does_not_ask_keeps_its_notes(tmp_path: Path) -> None:
    (tmp_path / "derivations").mkdir()
    for name in ("derivations/water.md", "notes.md"):
        (tmp_path / name).write_text(CHEMISTRY)
    (tmp_path / "test_nothing.py").write_text("def test_nothing(): pass\n")
    plain = run_pytest(tmp_path)
    assert plain.returncode == 0 and "1 passed" in plain.stdout
    doctests = run_pytest(tmp_path, "--doctest-glob=*.md")
    assert doctests.returncode == 0 and "3 passed" in doctests.stdout
    named = run_pytest(tmp_path, "--doctest-glob=*.md", "notes.md", "derivations/water.md")
    assert named.returncode == 0 and "2 passed" in named.stdout


def test_the_evidence_stands_in_the_junit_report(folder: Path, derived: subprocess.CompletedProcess[str]) -> None:
    cases = {case.get("name"): case for case in ET.parse(folder / "j.xml").iter("testcase")}
    assert set(cases) == {"square[1]", "square[2]", "dream", "wrong", "claimed-wrong", "undeclared"}
    assert (cases["dream"].get("file"), cases["dream"].get("line")) == ("derivations/good.md", "13")
    found = {p.get("name"): p.get("value") for p in cases["wrong"].iter("property")}
    assert found["verdict"] == "REFUTED" and found["line"] == "3"
    assert json.loads(found["counterexample"] or "")["values"] == {"x": "1"}
    assert "text" in json.loads(found["evidence"] or "")


@pytest.mark.parametrize(
    ("path", "pattern", "yes"),
    [
        ("derivations/a.md", "derivations/*.md", True),
        ("derivations/b/a.md", "derivations/*.md", False),
        ("derivations/b/a.md", "derivations/**/*.md", True),
        ("derivations/a.md", "derivations/**/*.md", True),
        ("a.md", "**", True),
        ("notes/derivations/a.md", "derivations/*.md", False),
        ("derivations/a.tex", "derivations/*.md", False),
    ],
)
def test_a_star_stays_within_a_folder(path: str, pattern: str, yes: bool) -> None:
    assert matches(path, pattern) is yes


def test_matrices_of_a_counterexample_are_told_as_rows() -> None:
    text = "Let $A \\in \\mathbb{R}^{2 \\times 2}$ and $x \\in \\mathbb{R}^2$.\n\n$$ A x = A^\\top x $$\n"
    lines = describe_failure(check_document(text).steps[0])
    assert "  A = [0, 0; 1, 0]" in lines and "  x = [0; 1]" in lines

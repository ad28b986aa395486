"""The doors to continuous integration do what they say: the action's steps run here, as a runner would run them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from local_runner import Ran, run_job, use_action

ROOT = Path(__file__).resolve().parents[3]
MINE = """\
import numpy as np


def attention(query, key, value):
    s = query.astype(np.float64) @ np.swapaxes(key, -1, -2) / query.shape[-1]
    p = np.exp(s - s.max(-1, keepdims=True))
    return (p / p.sum(-1, keepdims=True) @ value).astype(query.dtype)
"""
WRONG = """\
# Notes

Let $x > 0$.

$$
\\log x^2 = 3 \\log x
$$
"""


@pytest.fixture(scope="module")
def action() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    return read


def run_action(folder: Path, **inputs: str) -> Ran:
    """Run the action in a checkout, but for the step that installs what is installed; the last step is returned."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    own = {"PATH": path, "GITHUB_STEP_SUMMARY": str(folder / "summary.txt"), "PYTHONPATH": str(ROOT)}
    return use_action(inputs, folder, {**os.environ, **own}, skip=installs)[-1]


def installs(step: Mapping[str, Any]) -> bool:
    """Whether a step of the action is the one that installs it."""
    return "pip install" in step["run"]


def test_a_wrong_target_and_a_wrong_step_are_lines_of_the_diff(tmp_path: Path) -> None:
    (tmp_path / "my kernels.py").write_text(MINE)
    (tmp_path / "notes.md").write_text(WRONG)
    run = run_action(
        tmp_path, targets="'my kernels.py:attention'", derivations="*.md", sarif="found.sarif",
        options="--array numpy --no-gradients --law agrees_with_truth",
    )  # fmt: skip
    assert run.status == 1, run.output
    (first, second) = [line for line in run.output.splitlines() if line.startswith("::")]
    assert first.startswith(
        "::error title=my kernels.py%3Aattention%3A refuted,file=my kernels.py,line=4::agrees_with_truth"
    )
    assert "%0Asmallest case: " in first
    assert second.startswith("::error title=REFUTED%3A")
    assert "file=notes.md,line=6::" in second
    assert "❌ refuted" in (tmp_path / "summary.txt").read_text(encoding="utf-8")
    (found,) = json.loads((tmp_path / "found.sarif").read_text())["runs"][0]["results"]
    assert found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "my%20kernels.py"


def test_nothing_to_judge_is_an_error(tmp_path: Path) -> None:
    run = run_action(tmp_path)
    assert run.status == 2
    assert run.output.startswith("::error ")


@pytest.mark.thorough
def test_a_refuted_target_counts_more_than_a_document_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    options = "--array numpy --no-gradients --law agrees_with_truth"
    run = run_action(tmp_path, targets="mine.py:attention", derivations="none/*.md", options=options)
    assert run.status == 1, run.output
    run = run_action(tmp_path, derivations="none/*.md")
    assert run.status == 2 and "::error title=attention-core::something could not be judged" in run.output, run.output


@pytest.mark.thorough
def test_the_lines_of_the_page_lead_to_a_red_line(tmp_path: Path) -> None:
    """From `uses:` as docs/how_to/ci.md has it, in a workflow, to an annotation at the `def`; only the law is chosen."""
    page = (ROOT / "docs" / "how_to" / "ci.md").read_text(encoding="utf-8")
    (step,) = yaml.safe_load(page.partition("```yaml\n")[2].partition("```")[0])
    assert len(yaml.safe_dump(step).splitlines()) <= 6
    step["with"]["options"] += " --array numpy --no-gradients --law agrees_with_truth"
    for place, text in (("src/kernels.py", MINE), ("docs/notes.md", WRONG)):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_text(text, encoding="utf-8")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {
        **os.environ,
        "PATH": path,
        "PYTHONPATH": str(ROOT),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
    }
    done = run_job([{"uses": "actions/checkout@v5"}, step], tmp_path, environment, installs)
    assert [(ran.name, ran.status) for ran in done[:2]] == [
        ("actions/checkout", None),
        ("Install attention-core", None),
    ]
    assert done[-1].status == 1 and ",file=src/kernels.py,line=4::" in done[-1].output, done[-1].output
    assert ",file=docs/notes.md,line=6::" in done[-1].output and "refuted" in (tmp_path / "summary").read_text()


def test_every_input_reaches_a_step(action: dict[str, Any]) -> None:
    text = json.dumps(action["runs"])
    assert all(f"inputs.{name} }}}}" in text for name in action["inputs"])


def test_hooks_and_jobs_name_options_that_there_are(tmp_path: Path) -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    job = yaml.safe_load((ROOT / "templates" / "attention-core.gitlab-ci.yml").read_text(encoding="utf-8"))
    lines = [hook["entry"] for hook in hooks] + job["attention-core"]["script"]
    from click.testing import CliRunner

    from attention_core.cli import main

    for line in lines:
        command, *words = line.removeprefix("attention-core ").split()
        known = CliRunner().invoke(main, [command, "--help"]).output
        assert all(word in known for word in words if word.startswith("--")), line
    (derive,) = (hook for hook in hooks if hook["id"] == "attention-derive")
    assert set(derive["types_or"]) == {"markdown", "tex", "jupyter"}  # the names that `identify` has for them


def test_the_hook_shows_the_smallest_case(tmp_path: Path) -> None:
    """Whoever commits may have no command of their own to replay it with."""
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    entry = next(hook["entry"] for hook in hooks if hook["id"] == "attention-verify").removeprefix("attention-core ")
    (tmp_path / "mine.py").write_text(MINE.replace("return", "return 2 *", 1))
    options = ["mine.py:attention", "--array", "numpy", "--no-gradients", "--law", "agrees_with_truth"]
    run = subprocess.run(
        [sys.executable, "-m", "attention_core", *entry.split(), *options],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert run.returncode == 1 and "smallest case: " in run.stdout, run.stdout + run.stderr
    assert "from mine import attention" in run.stdout


def test_json_on_standard_output_stands_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    command = [
        "verify",
        "mine.py:attention",
        "--array",
        "numpy",
        "--no-gradients",
        "--law",
        "agrees_with_truth",
        "--json",
        "-",
    ]
    run = subprocess.run(
        [sys.executable, "-m", "attention_core", *command, "--github"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert json.loads(run.stdout)["verdict"] == "refuted"
    assert "refuted" in run.stderr
    assert "::error " in run.stderr


@pytest.mark.thorough
def test_a_job_of_kubernetes_judges_every_target_once(tmp_path: Path) -> None:
    """Each pod's line runs here with the number that Kubernetes gives it; the reports merge to those of one run."""
    job = yaml.safe_load((ROOT / "templates" / "attention-core.kubernetes.yaml").read_text(encoding="utf-8"))
    spec = job["spec"]
    (container,) = spec["template"]["spec"]["containers"]
    given = {each["name"]: each["value"] for each in container["env"]}
    assert (job["apiVersion"], job["kind"], spec["completionMode"]) == ("batch/v1", "Job", "Indexed")
    assert spec["template"]["spec"]["restartPolicy"] == "Never" and "backoffLimitPerIndex" in spec
    assert int(given["SHARDS"]) == spec["completions"] == spec["parallelism"]
    assert container["workingDir"] == container["volumeMounts"][0]["mountPath"]
    (tmp_path / "one.py").write_text(MINE)
    (tmp_path / "two.py").write_text(
        MINE.replace("p.sum(-1", "p.sum(-2")
    )  # refuted: a result, and no failure of its pod
    own = {"SHARDS": "2", "TARGETS": "one.py:attention two.py:attention", "PYTHONPATH": str(ROOT)}
    own["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    line = container["args"][0].replace(
        "verify $TARGETS", "verify $TARGETS --effort quick --law zero_queries_average --array numpy"
    )
    assert line != container["args"][0]

    def run(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words,
            cwd=tmp_path,
            env={**os.environ, **own, **more},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    pods = [run(*container["command"], line, JOB_COMPLETION_INDEX=str(number)) for number in range(2)]
    assert [pod.returncode for pod in pods] == [0, 0], pods
    merged = run("bash", "-c", "attention-core merge shard-*.json --json merged.json")
    reports = json.loads((tmp_path / "merged.json").read_text())
    assert len(reports["reports"]) == 2 and merged.returncode == 1, merged
    page = (ROOT / "docs" / "how_to" / "ci.md").read_text(encoding="utf-8")
    assert "attention-core.kubernetes.yaml" in page and f"job/{job['metadata']['name']}" in page
    missing = run(*container["command"], line.replace("--shard", "--shards"), JOB_COMPLETION_INDEX="0")
    assert missing.returncode, "a pod without a report has failed"

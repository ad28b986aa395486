"""A small local runner of GitHub's workflows: the steps of a job in order, as a runner would run them on this machine.

    python tests/local_runner.py WORKFLOW.yml FOLDER

It knows what our action needs: `run` steps with bash, and `uses: OWNER/attention-core@REF`, which runs the composite
action at the root of this checkout. Other actions (`actions/checkout`, `setup-python`) prepare the machine, and are
skipped by name. `if: always()` is heard; anything else that it does not know is an error.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
PREPARES = ("actions/checkout", "actions/setup-python", "github/codeql-action/upload-sarif")
EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")
SHELL = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c")
"""How GitHub runs a step with `shell: bash`."""
Skip = Callable[[Mapping[str, Any]], bool]


@dataclass(frozen=True)
class Ran:
    """One step that ran, or was skipped: its name, its exit status (None: skipped) and what it printed."""

    name: str
    status: int | None
    output: str = ""


def run_job(
    steps: Sequence[Mapping[str, Any]], folder: Path, environment: Mapping[str, str], skip: Skip = lambda step: False
) -> list[Ran]:
    """Run steps until one fails; those with `if: always()` run all the same.

    Args:
        steps: of a job, as the workflow has them.
        folder: the checkout. environment: of all steps, with GITHUB_STEP_SUMMARY.
        skip: whether a step of the action is left out, as one that installs what is installed.
    """
    done: list[Ran] = []
    for step in steps:
        failed = any(ran.status for ran in done)
        if step.get("if") not in (None, "always()"):
            raise ValueError(f"the condition {step['if']!r} is not known here")
        if failed and step.get("if") != "always()":
            continue
        used = str(step.get("uses", "")).partition("@")[0]
        if used in PREPARES:
            done.append(Ran(used, None))
        elif used.endswith("/attention-core"):
            done += use_action(step.get("with", {}), folder, environment, skip)
        elif used:
            raise ValueError(f"the action {used} is not known here")
        else:
            done.append(run_step(step, {}, folder, environment))
    return done


def use_action(
    given: Mapping[str, Any], folder: Path, environment: Mapping[str, str], skip: Skip = lambda step: False
) -> list[Ran]:
    """Run the steps of this repository's action with the inputs of a `with:`; the first that fails is the last.

    Raises: ValueError: there is no such input.
    """
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    if unknown := set(given) - set(action["inputs"]):
        raise ValueError(f"the action has no input {', '.join(sorted(unknown))}")
    values = {f"inputs.{name}": str(given.get(name, field["default"])) for name, field in action["inputs"].items()}
    done: list[Ran] = []
    for step in action["runs"]["steps"]:
        if skip(step):
            done.append(Ran(step["name"], None))
        elif not any(ran.status for ran in done):
            done.append(run_step(step, values | {"github.action_path": str(ROOT)}, folder, environment))
    return done


def run_step(
    step: Mapping[str, Any], values: Mapping[str, str], folder: Path, environment: Mapping[str, str]
) -> Ran:  # fmt: skip
    """Run the script of one step, with the expressions of its environment filled in."""

    def fill(text: str) -> str:
        return EXPRESSION.sub(lambda found: values[found[1]], text)

    own = {name: fill(str(text)) for name, text in step.get("env", {}).items()}
    run = subprocess.run(
        [*SHELL, fill(step["run"])], cwd=folder, env={**environment, **own}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=3600, check=False,
    )  # fmt: skip
    return Ran(str(step.get("name", step["run"].splitlines()[0])), run.returncode, run.stdout)


def main(workflow: str, folder: str) -> int:
    """Run every job of a workflow, and print what each step printed; return 1 if a step failed."""
    jobs = yaml.safe_load(Path(workflow).read_text(encoding="utf-8"))["jobs"]
    summary = Path(folder).resolve() / "summary.md"
    environment = {**os.environ, "GITHUB_STEP_SUMMARY": str(summary), "GITHUB_ACTIONS": "true", "CI": "true"}
    failed = False
    for name, job in jobs.items():
        for ran in run_job(job["steps"], Path(folder), environment):
            print(f"[{name}] {ran.name}: {'skipped' if ran.status is None else f'exit status {ran.status}'}")
            print(ran.output, end="")
            failed = failed or bool(ran.status)
    print(summary.read_text(encoding="utf-8") if summary.exists() else "no summary")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

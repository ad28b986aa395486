"""The distribution, the pins and the documented commands agree with each other.

The distribution as a user meets it: its metadata, commands, files, pins, and the README's commands.
Tests of the installed distribution run under tox, which installs the wheel; a bare checkout skips them.
"""

from __future__ import annotations

import configparser
import os
import re
import shlex
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("attention_core", "finetune")
MAIN_COMMAND = "python -m pip install tox && python -m tox run -e verify"
TEST_COMMAND = "python -m pip install tox && python -m tox run"


@pytest.fixture(scope="module")
def installed() -> Distribution:
    """Return the installed distribution; under tox its absence is a failure, elsewhere a skip."""
    try:
        found = distribution("attention-core")
    except PackageNotFoundError:
        if "TOX_ENV_NAME" in os.environ:
            raise
        pytest.skip("attention-core is not installed here; tox installs it")
    return found


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    """Return the table [project] of pyproject.toml."""
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return table


@pytest.fixture(scope="module")
def tox_ini() -> configparser.ConfigParser:
    """Return tox.ini, uninterpolated."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string((ROOT / "tox.ini").read_text(encoding="utf-8"))
    return parser


def pin_lines() -> list[str]:
    """Return the lines of constraints.txt that are not comments."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def pins() -> dict[str, str]:
    """Return the pinned version of each package."""
    return {name: version for name, _, version in (line.partition("==") for line in pin_lines())}


def tracked(*folders: str) -> set[str]:
    """Return the files under `folders` that git knows; skip where there is no checkout."""
    command = ["git", "ls-files", "-z", "--", *folders]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if found.returncode != 0:
        pytest.skip(f"not a git checkout: {found.stderr.strip()}")
    return set(found.stdout.split("\0")) - {""}


# The installed distribution


def test_metadata_is_the_declared_one(installed: Distribution, project: dict[str, Any]) -> None:
    metadata = installed.metadata
    assert metadata["Name"] == project["name"] == "attention-core"
    assert installed.version == project["version"]
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "MIT"
    assert set(metadata.get_all("Provides-Extra") or ()) == {
        "all",
        "bench",
        "dev",
        "docs",
        "encoder",
        "finetune",
        "hub",
        "jax",
        "lsp",
        "peft",
        "prompt",
        "select",
        "test",
    }


def test_packages_state_the_version_of_the_distribution(project: dict[str, Any]) -> None:
    assert import_module("attention_core").__version__ == project["version"]
    assert import_module("finetune").__version__ == project["version"]
    assert f"\nversion: {project['version']}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_wheel_holds_every_tracked_file_of_the_packages_alone(installed: Distribution) -> None:
    files = {str(file).replace(os.sep, "/") for file in installed.files or ()}
    held = {file for file in files if file.startswith(tuple(f"{name}/" for name in PACKAGES))}
    held = {file for file in held if "__pycache__" not in file}
    if not held:
        pytest.skip("an editable install lists no files of the packages")
    # A wheel built from a working tree may hold files that git does not know yet; it may not lack one.
    assert tracked(*PACKAGES) <= held
    assert all(Path(file).suffix in {".py", ".typed", ".md", ".toml", ".json", ".html"} for file in held), held
    tops = {file.split("/")[0] for file in files if not file.startswith("..")} - {"bin"}  # commands, by `pip --target`
    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_are_typed(package: str) -> None:
    assert (ROOT / package / "py.typed").is_file()


def test_entry_points_load(installed: Distribution) -> None:
    points = {(point.group, point.name): point for point in installed.entry_points}
    assert set(points) == {
        ("console_scripts", "attention-core"),
        ("console_scripts", "finetune"),
        ("pytest11", "attention_core"),
        ("attention_core.contracts", "span-corruption"),
        ("attention_core.contracts", "vocabulary"),
        ("attention_core.contracts", "causal-lm"),
        ("attention_core.contracts", "trainer"),
        ("attention_core.contracts", "training-step"),
        ("attention_core.contracts", "peft"),
        ("attention_core.contracts", "checkpoint"),
        ("attention_core.contracts", "masked-lm"),
        ("attention_core.contracts", "classifier"),
        ("attention_core.contracts", "head-importance"),
    }
    for (group, _), point in points.items():
        loaded = point.load()
        assert callable(loaded) or group == "pytest11"


@pytest.mark.parametrize("command", ["attention-core", "finetune"])
def test_commands_answer(installed: Distribution, command: str) -> None:
    script = Path(sys.executable).with_name(command)
    found = subprocess.run(
        [script, "--version"], capture_output=True, text=True, check=False, timeout=120, cwd=ROOT / "tests"
    )
    assert found.returncode == 0, found.stderr
    assert installed.version in found.stdout
    found = subprocess.run([script, "--help"], capture_output=True, text=True, check=False, timeout=120)
    assert found.returncode == 0, found.stderr
    assert "Usage" in found.stdout


# Pins


def test_every_pin_is_exact_and_names_no_place() -> None:
    for line in pin_lines():
        assert re.fullmatch(r"[a-z0-9][a-z0-9-]*==[0-9][0-9a-z.]*", line), line
    assert pin_lines() == sorted(set(pin_lines())), "sorted, each once"
    assert pins()["torch"] == "2.13.0"
    assert not [name for name in pins() if name.startswith(("nvidia", "cuda"))], "torch without CUDA"


def test_pins_satisfy_what_is_declared(project: dict[str, Any]) -> None:
    wanted = [
        *project["dependencies"],
        *(line for lines in project["optional-dependencies"].values() for line in lines),
    ]
    for requirement in map(Requirement, wanted):
        if requirement.name != "attention-core":
            assert requirement.specifier.contains(pins()[requirement.name]), requirement


def test_the_lowest_pins_are_the_declared_bounds(project: dict[str, Any]) -> None:
    """`tox run -e lowest` tries what is declared; only torch is a later one, and the file says why."""
    lines = (ROOT / "constraints-lowest.txt").read_text(encoding="utf-8").splitlines()
    lowest = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    declared = {r.name: str(r.specifier).removeprefix(">=") for r in map(Requirement, project["dependencies"])}
    assert lowest.pop("torch") == pins()["torch"] and declared.pop("torch")
    assert {name: Version(version) for name, version in lowest.items()} == {
        name: Version(version) for name, version in declared.items()
    }


def test_the_project_has_addresses(project: dict[str, Any]) -> None:
    assert set(project["urls"]) == {"Homepage", "Documentation", "Repository", "Issues", "Changelog"}


def test_releases_are_published_without_a_token() -> None:
    """Only the job that publishes may ask for an identity, and it runs nothing of the repository."""
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    assert jobs["publish"]["permissions"] == {"id-token": "write"} and jobs["build"]["permissions"] == {
        "contents": "read"
    }
    assert all("run" not in step for step in jobs["publish"]["steps"]) and jobs["publish"]["needs"] == [
        "build",
        "pythons",
    ]
    assert "password" not in text and "secrets." not in text
    assert '"OWNER/" in text' in text, "an address with a placeholder would be published"


@pytest.mark.parametrize("account", ["OWNER", "somebody"])
def test_a_placeholder_stops_a_release(account: str, tmp_path: Path) -> None:
    """The first step of the workflow, as the runner would run it."""
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    (script,) = (
        step["run"] for step in yaml.safe_load(text)["jobs"]["build"]["steps"] if "tag" in step.get("name", "")
    )
    for name in ("pyproject.toml", "README.md"):
        kept = (
            (ROOT / name).read_text(encoding="utf-8").replace("OWNER/", f"{account if name == 'README.md' else 'a'}/")
        )
        (tmp_path / name).write_text(kept, encoding="utf-8")
    tag = "v" + tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-e", "-c", script], cwd=tmp_path, env={**os.environ, "GITHUB_REF_NAME": tag, "PATH": path},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, "OWNER in the addresses of README.md" in done.stderr) == (
        (1, True) if account == "OWNER" else (0, False)
    )


def test_the_account_is_written_in_one_way() -> None:
    """One replacement of OWNER/attention-core reaches every address."""
    files = [ROOT / name for name in ("README.md", "pyproject.toml", "action.yml", "CITATION.cff")]
    files += [path for folder in ("docs", "templates", "experiments") for path in (ROOT / folder).rglob("*.md")]
    files += [path for folder in ("docs", "templates") for path in (ROOT / folder).rglob("*.y*ml")]
    told = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert "s#OWNER/attention-core#" in told
    for path in files:
        text = path.read_text(encoding="utf-8")
        bare = (
            text.replace("OWNER/attention-core", "")
            .replace("`OWNER`", "")
            .replace("# OWNER stands for the account", "")
        )
        assert "OWNER" not in bare, path.name
        assert "OWNER/" not in text or f"{path.relative_to(ROOT)}" in told or path.suffix == ".yaml", path.name


def test_every_dependency_is_imported(project: dict[str, Any]) -> None:
    """A dependency that nothing imports is weight for every user; SymPy is there for an experiment alone."""
    folders = (*PACKAGES, "experiments")
    source = "\n".join(p.read_text(encoding="utf-8") for folder in folders for p in (ROOT / folder).rglob("*.py"))
    modules = {"python-flint": "flint"}
    names = [Requirement(line).name for line in project["dependencies"]]
    unused = [n for n in names if not re.search(rf"^\s*(import|from) {modules.get(n, n)}\b", source, re.MULTILINE)]
    assert unused == []


def test_everything_installed_is_pinned(installed: Distribution) -> None:
    """Under tox nothing is installed whose version was left to the day."""
    assert installed is not None
    if "TOX_ENV_NAME" not in os.environ:
        pytest.skip("only tox installs under the constraints")
    # The environment's own folder: setuptools puts the packages that it carries on the path when it is imported.
    home = [str(Path(str(installed.locate_file(""))))]
    found = {
        canonicalize_name(dist.metadata["Name"]): dist.version.partition("+")[0] for dist in distributions(path=home)
    }
    assert len(found) > 10, "the packages of the environment lie elsewhere"
    left = {name: version for name, version in found.items() if name not in {"attention-core", "pip", "wheel"}}
    assert {name: version for name, version in left.items() if pins().get(name) != version} == {}


# Documented commands


def test_readme_gives_the_two_commands() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    commands = [line.strip() for line in lines if line.strip().startswith("python -m pip install tox")]
    assert commands == [MAIN_COMMAND, TEST_COMMAND]


def test_readme_clones_before_it_installs() -> None:
    lines = [line.strip() for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines()]
    clone = next(place for place, line in enumerate(lines) if line.startswith("git clone "))
    name = lines[clone].rpartition("/")[2]
    assert lines[clone + 1 : clone + 3] == [f"cd {name}", "python -m pip install -c constraints.txt ."]


def test_readme_says_how_to_install_without_cuda() -> None:
    """The usual wheel of torch for Linux brings CUDA: the command of the README, with PyTorch's own index beside it."""
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    commands = [line.strip() for line in lines if line.strip().startswith("python -m pip install -c constraints.txt .")]
    usual = "python -m pip install -c constraints.txt ."
    assert commands == [usual, f"{usual} --extra-index-url https://download.pytorch.org/whl/cpu"]


def test_ci_runs_both_commands_of_the_readme() -> None:
    script = ROOT / ".ci" / "run"
    lines = script.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "#!/usr/bin/env bash"
    assert "set -euo pipefail" in lines
    assert lines[-2:] == [TEST_COMMAND, MAIN_COMMAND]
    assert os.access(script, os.X_OK)


def test_tox_is_a_table_of_contents(tox_ini: configparser.ConfigParser) -> None:
    named = {section.removeprefix("testenv:") for section in tox_ini.sections() if section.startswith("testenv:")}
    default = [name.strip() for name in tox_ini["tox"]["env_list"].split(",")]
    assert default == ["lint", "types", "docs", "tests"]
    assert {*default, "thorough", "verify", "bench"} <= named
    for name in named:
        description = tox_ini[f"testenv:{name}"].get("description", "")
        assert description, f"{name} says nothing of itself"
        # "word: rest" is a condition to tox: the description would be empty except in environment `word`.
        assert not re.match(r"[\w,!.-]+:\s", description), description


def test_the_thorough_run_takes_every_row_and_holds_the_floor_of_coverage(tox_ini: configparser.ConfigParser) -> None:
    commands = tox_ini["testenv:thorough"]["commands"].splitlines()
    assert any("pytest --thorough" in line for line in commands) and commands[-1] == "coverage report"
    assert "--thorough" not in tox_ini["testenv:tests"]["commands"]


def test_every_environment_is_constrained(tox_ini: configparser.ConfigParser) -> None:
    for section in ("testenv", "testenv:.pkg"):
        assert "PIP_CONSTRAINT = {tox_root}/constraints.txt" in tox_ini[section]["set_env"]
    assert "PIP_CONSTRAINT = {tox_root}/constraints-lowest.txt" in tox_ini["testenv:lowest"]["set_env"]
    own = {"testenv:.pkg", "testenv:lowest"}
    others = [name for name in tox_ini.sections() if name.startswith("testenv:") and name not in own]
    assert not [name for name in others if "set_env" in tox_ini[name]], "would replace the constraint"


def test_verify_runs_our_plugin_over_the_kernel_table(tox_ini: configparser.ConfigParser) -> None:
    words = shlex.split(tox_ini["testenv:verify"]["commands"])
    assert words[0] == "pytest"
    assert words[words.index("--attention") :][:4] == ["--attention", "all", "--pyargs", "attention_core.conformance"]


def test_lint_does_without_torch(tox_ini: configparser.ConfigParser) -> None:
    lint = tox_ini["testenv:lint"]
    assert lint["skip_install"] == "true"
    assert lint["deps"].split() == ["ruff"]

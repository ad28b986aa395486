"""Shared fixtures and settings of the tests.

What all tests share: one thread for torch, Hypothesis profiles, and where real data is found.
Real data is no part of the project: without it the tests that read it are skipped, and say so.
"""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Generator, Iterator
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import coverage_sample
import jaxtyping
import pytest
import shape_checks
import thorough
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[1]

# What is made while tests are collected stays: looking through it for garbage, again and again, takes half of the time.
gc.disable()

# Last on the path: `tests` is found in the checkout, while an installed wheel still wins for the packages.
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

# Before anything imports the modules: shapes in signatures are true.
if shape_checks.enabled():
    shape_checks.install(Path(find_spec("attention_core").origin).parents[1])

# No deadline and no `too_slow`: the time one example takes is a property of the machine, not of the code.
settings.register_profile(
    "default", deadline=None, derandomize=False, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
# The same examples on every run: a red build is a change in the code, and anyone can repeat it.
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "default"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option that takes all rows of all sweeps."""
    parser.addoption(thorough.OPTION, action="store_true", help="run every row of the tests marked `thorough`")


def pytest_configure(config: pytest.Config) -> None:
    """Tell searches whether they take all of their examples, those of Hypothesis's own number included."""
    thorough.take_everything(config.getoption(thorough.OPTION))
    settings.register_profile("this run", settings(), max_examples=thorough.examples(100))
    settings.load_profile("this run")


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """Let Hypothesis run once, then import torch, all before there are tests.

    At its first run Hypothesis looks through all objects for what holds NumPy's random numbers: before torch there are
    few, and once they are frozen it would see none of them, and warn.
    """
    import numpy  # noqa: F401

    settings(max_examples=1, database=None, phases=[Phase.generate])(given(st.none())(lambda case: None))()
    import torch

    # Threads change the order of sums, and with several test processes they only contend.
    torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def same_draws() -> Iterator[None]:
    """Let the seed alone decide what Hypothesis draws: which modules a test process has loaded is chance."""
    from hypothesis.internal.conjecture import providers

    patch = pytest.MonkeyPatch()
    patch.setattr(providers, "_get_local_constants", providers.Constants)
    yield
    patch.undo()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the default run its part of the sweeps; mark `needs_data` on every test that uses the fixture."""
    thorough.deselect(config, items)
    if coverage_sample.is_measuring():
        coverage_sample.choose(items)
    for item in items:
        if "data_dir" in getattr(item, "fixturenames", ()):
            item.add_marker("needs_data")


def pytest_collection_finish() -> None:
    """Collect garbage from now on, but only what is made from now on."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Measure the coverage of a sample of the tests; their fixtures are always measured."""
    with coverage_sample.measured(item):
        return (yield)


@pytest.fixture(autouse=True)
def unchecked_shapes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Leave shapes unchecked in tests of what torch compiles, whose tracer does not follow the checks, and in most others.

    With them laws take a fifth longer. Each third test checks what signatures say, and all do with `--thorough`.
    """
    compiles = request.node.get_closest_marker("compiles") is not None
    if not compiles and thorough.checks_shapes(request.node.nodeid):
        yield
        return
    jaxtyping.config.update("jaxtyping_disable", True)
    if compiles:
        import torch

        # With the checks, all our functions are one code object to the compiler, which bounds how often it compiles one.
        torch.compiler.reset()
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(autouse=True)
def patience(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps of derivations have so much time that what they come to is no property of the machine."""
    if {"derivation", "derive"} & set(request.path.relative_to(ROOT).parts):
        monkeypatch.setattr("attention_core.derivation.effort.SECONDS", 120.0)


@cache
def looks_at_advice(path: Path) -> bool:
    """Whether a module of tests speaks of advice, of a change that makes a false step true, or of what is meant."""
    return re.search(r"advi[cs]e|slip|mend|meant|hint", path.read_text(encoding="utf-8")) is not None


@pytest.fixture(autouse=True)
def in_brief(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps in tests of derivations come without advice where the module does not look at it, and few are searched far out.

    No verdict rests on advice, and the search for it takes as long as several verdicts. The search far out takes as long
    as all else, and few steps are wrong only there (the fixture `searched`). With `--thorough` there are both.
    """
    if "derivation" not in request.path.relative_to(ROOT).parts or not thorough.takes_fewest():
        return
    from attention_core.derivation import check

    judge_step, is_advised = check.judge_step, looks_at_advice(request.path)
    is_near = "searched" not in request.fixturenames and not thorough.searches_far(request.node.nodeid)

    def judge_briefly(step: Any, effort: Any, advise: bool, necessity: bool) -> Any:
        return judge_step(step, replace(effort, ladder=0) if is_near else effort, advise and is_advised, necessity)

    monkeypatch.setattr(check, "judge_step", judge_briefly)


@pytest.fixture
def searched() -> None:
    """Steps are searched far out, too: at large sizes and numbers, and near the ends of what is allowed."""


@pytest.fixture
def unshrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counterexamples stay as they were found, in tests that ask what is refuted: most of the time would make them small."""
    monkeypatch.setattr("attention_core.conformance.engine.session.SHRINK_CALLS", 0)


@pytest.fixture
def fewest_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Laws judge the fewest cases that a verdict needs, in tests that ask what a run says and not what its laws see."""
    from judging import search_briefly

    monkeypatch.setattr("attention_core.conformance.search.search.Search.to", search_briefly)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the folder with real data, named by ATTENTION_CORE_DATA; skip, saying why, without it."""
    named = os.environ.get("ATTENTION_CORE_DATA")
    if not named:
        pytest.skip("needs real data: set ATTENTION_CORE_DATA to its folder")
    folder = Path(named).expanduser()
    folder = folder if folder.is_absolute() else ROOT / folder
    if not folder.is_dir():
        pytest.skip(f"needs real data: ATTENTION_CORE_DATA names no folder ({named})")
    return folder


@pytest.fixture(scope="session")
def stats() -> ModuleType:
    """Return `scipy.stats`: importing it takes most of a second, so only tests that use it do."""
    from scipy import stats

    return stats

"""For each survivor a test to paste, tried before it is shown: the smallest case that tells it from the target.

All tests are tried together: once on the user's own function, where each must pass, and once for each survivor, where
its own comes first and must fail: before it nothing has called the fault, which may leave something behind that hides
it from the next. Which others fail then says how few tests would do. A shard of a run does not know the others' tests:
there each is tried on its own survivor alone. Whether a survivor's own test catches it is the same for any number of
shards.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from attention_core.audit.plan import Plan
from attention_core.audit.results import Fate, as_test
from attention_core.audit.suite import SuiteRun
from attention_core.audit.trial import Trial, restore
from attention_core.conformance.contracts import find_contract
from attention_core.conformance.snippets.snippet import import_of
from attention_core.declaration.implementation import Implementation, TargetError

Tell = Callable[[str, int, int], None]
TOGETHER = "calls that go together show it, and no single case does: the test asks the laws"


def with_cases(fates: list[Fate], trial: Trial, path: tuple[str, ...], tell: Tell) -> list[Fate]:
    """The fates, each survivor with a test that catches it, as far as one is found."""
    survivors = {fate.name: fate for fate in fates if fate.status == "survived"}
    known = {name: trial.request.log.known.get(f"case of {name}") for name in survivors}
    found = {name: restore({**line, "name": name}) for name, line in known.items() if line is not None}
    for rank in range(2):  # the law that saw it first, then others
        left = [fate for name, fate in survivors.items() if not found.get(name, fate).confirmed and known[name] is None]
        left = [found.get(fate.name, fate) for fate in left]  # where the others find none, its first case stays
        found |= {fate.name: fate for fate in find_cases(left, trial, rank, tell)}
        confirm(found, [fate.name for fate in left], trial, path, tell)
    ask_laws(found, {fate.name: fate.law for name, fate in survivors.items() if known[name] is None}, trial, path, tell)
    for name, fate in found.items():
        if known[name] is None:
            trial.request.log.add(f"case of {name}", {k: v for k, v in asdict(fate).items() if k != "name"})
    return [found.get(fate.name, fate) for fate in fates]


def find_cases(fates: Sequence[Fate], trial: Trial, rank: int, tell: Tell) -> list[Fate]:
    """The smallest case of each fate, by the law that saw it first (rank 0) or by the others."""

    def find(fate: Fate) -> Fate:
        return find_case(fate, trial, rank)

    done = []
    with ThreadPoolExecutor(trial.request.processes) as pool:
        for number, fate in enumerate(pool.map(find, fates), 1):
            tell("finding the smallest case of each survivor", number, len(fates))
            done.append(fate)
    return done


def find_case(fate: Fate, trial: Trial, rank: int) -> Fate:
    """One fate with its smallest case, by the law that saw it first (rank 0) or by the others."""
    plan = replace(trial.plan, fault=fate.name)
    try:
        case = trial.judges.ask("smallest", plan, law=fate.law, others=bool(rank))["case"]
    except TargetError as error:
        return replace(fate, message=fate.message or f"its smallest case was not found: {error}")
    if not case:
        return fate
    test = as_test(case["snippet"], name_of_test(case["law"], fate.name))
    return replace(fate, law=case["law"], case=case["case"], message=case["message"], test=test)


def ask_laws(found: dict[str, Fate], laws: dict[str, str], trial: Trial, path: tuple[str, ...], tell: Tell) -> None:
    """Give survivors whose case shows nothing by itself a test that asks the law that saw it, or else all laws.

    A law of chance or of what a call leaves behind compares many calls; a fault that waits for an earlier call of
    another law shows to all of them alone.
    """
    known = {law.name for law in find_contract(trial.plan.fields().get("contract", "attention")).laws}
    before = {name: found[name] for name in laws if not found[name].confirmed and laws[name] in known}
    for whole in (False, True):
        left = [name for name in before if not found[name].confirmed]
        for name in left:
            test = law_as_test(laws[name], name, trial.plan, whole=whole)
            found[name] = replace(before[name], law=laws[name], case="", message=TOGETHER, test=test)
        confirm(found, left, trial, path, tell)
    found |= {name: fate for name, fate in before.items() if not found[name].confirmed}


def law_as_test(law: str, fault: str, plan: Plan, *, whole: bool = False) -> str:
    """A test to paste that puts the target through one law; with `whole`, through all.

    >>> plan = Plan("mine:attend", declared={"layout": "bnhd"})
    >>> print(law_as_test("evaluation_has_no_dropout", "dropout.always", plan))
    # evaluation_has_no_dropout: In evaluation mode the output is the one without dropout.
    from attention_core.conformance import Implementation, check_implementation
    from mine import attend
    attention = attend
    <BLANKLINE>
    <BLANKLINE>
    def test_evaluation_has_no_dropout__always():
        declared = Implementation(attention, layout='bnhd')
        check_implementation(declared, effort="quick", laws=["evaluation_has_no_dropout"]).raise_if_refuted()
    <BLANKLINE>
    """
    fields = plan.fields()
    known = {each.name: each.sentence for each in find_contract(fields.get("contract", "attention")).laws}
    given = "".join(f", {name}={value!r}" for name, value in fields.items())
    laws = "" if whole else f', laws=["{law}"]'
    lines = [
        f"# {law}: {known[law]}", "from attention_core.conformance import Implementation, check_implementation",
        import_of(plan.target, Implementation(None, **fields)), "", "", f"def {name_of_test(law, fault)}():",
        f"    declared = Implementation(attention{given})",
        f'    check_implementation(declared, effort="quick"{laws}).raise_if_refuted()',
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def name_of_test(law: str, fault: str) -> str:
    """The name of a test to paste.

    >>> name_of_test("agrees_with_truth", "tiles.last-tile")
    'test_agrees_with_truth__last_tile'
    """
    return f"test_{law}__{re.sub(r'[^0-9a-zA-Z_]', '_', fault.rpartition('.')[2])}"


def confirm(found: dict[str, Fate], names: Sequence[str], trial: Trial, path: tuple[str, ...], tell: Tell) -> None:
    """Try the tests of some survivors, and note in `found` which tests catch them."""
    tests = {name: fate.test for name, fate in found.items() if fate.test}
    if not tests or not names:
        return
    plan, alone = replace(trial.plan, leave_out=(), path=path), trial.request.shard is not None
    passing = passed_by(run_in_own_file(replace(plan, mode="plain"), tests, trial), tests)

    def catch(name: str) -> list[str]:
        own = {name: tests[name]} if name in tests else {}
        tried = own if alone else own | tests
        if not tried:
            return []
        run = run_in_own_file(replace(plan, fault=name), tried, trial)
        passed = passed_by(run, tried)
        if run.hung or run.died:
            return [name] if name in passing and name not in passed else []
        return [test for test in passing if test in tried and test not in passed]

    with ThreadPoolExecutor(trial.request.processes) as pool:
        for number, (name, caught) in enumerate(zip(names, pool.map(catch, names), strict=True), 1):
            tell("trying the new tests", number, len(names))
            found[name] = replace(found[name], confirmed=name in caught, caught_by=tuple(caught))


def run_in_own_file(plan: Plan, tests: dict[str, str], trial: Trial) -> SuiteRun:
    """Run all tests to paste, each in a file of its own, beside no other's settings."""
    with TemporaryDirectory(prefix="attention-core-audit-") as folder:
        ini = Path(folder) / "pytest.ini"
        ini.write_text("[pytest]\n", encoding="utf-8")
        files = [Path(folder) / file_of(number) for number in range(len(tests))]
        for file, text in zip(files, tests.values(), strict=True):
            file.write_text(text, encoding="utf-8")
        more = (f"--rootdir={folder}", "-c", str(ini))
        return trial.suites.run(plan, [str(file) for file in files], more, limit=trial.limit)


def file_of(number: int) -> str:
    """The file of a test."""
    return f"test_pasted_{number}.py"


def passed_by(run: SuiteRun, tests: dict[str, Any]) -> list[str]:
    """The names of the faults whose tests passed."""
    passed = {node.partition("::")[0].rpartition("/")[2] for node in run.passes}
    return [name for number, name in enumerate(tests) if file_of(number) in passed]

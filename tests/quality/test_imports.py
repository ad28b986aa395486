"""Import directions and light imports.

Who may import whom, read from the source with ast, and that `import attention_core` stays light.
The oracle shares no code with what it judges: that only means something while nobody breaks it.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

BLOCKS = ("kernels", "masking", "modules")
JUDGE = ("oracle", "declaration", "worker", "conformance", "derivation", "bench", "plugin", "cli")
HEAVY = (
    "jax",
    "matplotlib",
    "openai",
    "optuna",
    "peft",
    "pytest_benchmark",
    "scipy",
    "sympy",
    "torch",
    "transformers",
)


def ours(*names: str) -> tuple[str, ...]:
    """Return the full names of modules of attention_core."""
    return tuple(f"attention_core.{name}" for name in names)


@dataclass(frozen=True)
class Rule:
    """One direction: files matching `modules`, `but` excepted, may import nothing in `never`; of `within`, `only` alone."""

    why: str
    modules: tuple[str, ...]
    never: tuple[str, ...] = ()
    within: str | None = None
    only: tuple[str, ...] = ()
    but: tuple[str, ...] = ()

    def is_about(self, module: str) -> bool:
        if any(fnmatchcase(module, pattern) for pattern in self.but):
            return False
        return any(fnmatchcase(module, pattern) for pattern in self.modules)

    def broken_by(self, imported: str) -> bool:
        if any(covers(name, imported) for name in self.never):
            return True
        if self.within is None or not covers(self.within, imported):
            return False
        return not any(covers(name, imported) for name in self.only)


RULES = (
    Rule(
        "the truth is NumPy alone",
        ours("oracle", "oracle.*"),
        within="",
        only=("numpy", "attention_core.oracle", *sys.stdlib_module_names),
    ),
    Rule(
        "a law sees the oracle, never an implementation",
        ours("conformance.laws", "conformance.laws.*"),
        never=("torch",),
        within="attention_core",
        only=ours("oracle", "declaration", "conformance"),
    ),
    Rule(
        "the library does not know its user",
        ("attention_core", "attention_core.*"),
        never=("finetune",),
    ),
    Rule(
        "the catalogue of faults is for those who measure: of the product only the audit imports it",
        ("attention_core", "attention_core.*", "finetune", "finetune.*"),
        never=("attention_core.faults", "finetune.faults"),
        but=("attention_core.faults.*", "attention_core.audit.*", "finetune.faults.*"),
    ),
    Rule(
        "a building block knows neither the table nor its judge",
        ours(*BLOCKS, *(f"{name}.*" for name in BLOCKS)),
        never=ours("dispatch", "registry", "peers", *JUDGE),
    ),
    Rule("a kernel knows no module", ours("kernels", "kernels.*"), never=ours("modules")),
    Rule("a mask knows neither kernel nor module", ours("masking", "masking.*"), never=ours("kernels", "modules")),
    Rule(
        "the table names implementations; it does not see the truth or the laws",
        ours("registry.*", "dispatch.*", "peers.*"),
        never=ours("oracle", "conformance", "derivation", "bench", "plugin", "cli"),
    ),
)


DOOR = "."
"""The room of a package's own `__init__`."""
FLOORS: Mapping[str, tuple[str, ...]] = {
    "attention_core": (
        "annotations badge console html_page outputs",
        "oracle declaration masking derivation",
        "worker kernels peers",
        "modules registry",
        "dispatch conformance",
        f"{DOOR} changes interfaces terminal",
        "bench teaching faults",
        "audit grading matrix",
        "report_page",
        "cli plugin",
        "__main__",
    ),
    "attention_core.conformance": (
        "budgets worker",
        "cases",
        "subjects",
        "modules",
        "laws",
        "first_look",
        "contracts",
        "report",
        "snippets",
        "search",
        "engine",
        "parametrize",
        f"{DOOR} pytest_suite",
    ),
    "attention_core.derivation": (
        "records effort quick_patterns",
        "latex graph",
        "document algebra",
        "limits",
        "terms",
        "elaborate",
        "words",
        "inference",
        "reading",
        "lowering",
        "claims",
        "probability",
        "cases",
        "proofs",
        "search",
        "decision exchange",
        "judge report show",
        "check",
        "sympy_relations editors github",
        f"{DOOR} cli collection",
    ),
    "attention_core.bench": (
        "files conventions",
        "json_fields",
        "workloads",
        "targets timing",
        "worker report tune",
        "verdicts revisions",
        "run",
        "selftest cli_validation",
        f"{DOOR} cli",
    ),
    "attention_core.audit": (
        "adapter choice first_laws log planting progress results",
        "plan",
        "child judge judge_client suite",
        "trial",
        "baseline survivors",
        "run render_text merge",
        "render_html",
        f"{DOOR} cli",
    ),
    "attention_core.grading": (
        "arena rules forbidden watch fresh_inputs truth",
        "source problems player task results",
        "child conduct flashinfer measure render_text",
        "render_html",
        "stages reference_stages",
        "run",
        "judge",
        "batch",
        f"{DOOR} cli",
    ),
    "finetune": (
        f"{DOOR} errors laws",
        "training",
        "pictures data",
        "models",
        "characters peft",
        "classification",
        "memory contract_adapters prompting experiments",
        "selection standardise",
        "cli faults",
    ),
}
"""The rooms (folders and files) of each package, the lowest floor first: a room imports only rooms of lower floors."""
LARGEST_CIRCLE = 2
"""So many files of one room may import one another in a circle."""


def covers(name: str, imported: str) -> bool:
    """Say whether `imported` is the module `name` or lies inside it; the empty name covers everything."""
    return name == "" or imported == name or imported.startswith(f"{name}.")


@cache
def imports(source: str, module: str, is_package: bool) -> tuple[tuple[int, str], ...]:
    """Return (line, full name) for every import, those inside functions too.

    `from a import b` yields a.b, since b may be a module; relative imports are resolved against `module`.
    """
    found: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = node.module or ""
            if node.level:
                parents = module.split(".")
                drop = node.level - 1 if is_package else node.level
                start = ".".join([*parents[: len(parents) - drop], *([start] if start else [])])
            found += [(node.lineno, f"{start}.{alias.name}") for alias in node.names]
    return tuple(found)


def offences(source: str, module: str, is_package: bool = False) -> list[str]:
    """Return one line for each import in `source` that breaks a rule for `module`."""
    rules = [rule for rule in RULES if rule.is_about(module)]
    return [
        f"{module}:{line} imports {name}: {rule.why}"
        for line, name in imports(source, module, is_package)
        for rule in rules
        if rule.broken_by(name)
    ]


def package_folder(package: str) -> Path:
    """Return the folder that `import package` would read."""
    spec = find_spec(package)
    assert spec is not None and spec.submodule_search_locations, f"{package} cannot be found"
    return Path(spec.submodule_search_locations[0])


def sources(package: str) -> Iterator[tuple[str, bool, str]]:
    """Yield (module, is_package, source) for each file of a package."""
    folder = package_folder(package)
    for path in sorted(folder.rglob("*.py")):
        parts = [package, *path.relative_to(folder).with_suffix("").parts]
        is_package = parts[-1] == "__init__"
        yield ".".join(parts[:-1] if is_package else parts), is_package, path.read_text(encoding="utf-8")


@pytest.mark.parametrize("package", ["attention_core", "finetune"])
def test_directions_hold(package: str) -> None:
    found = [line for module, is_package, text in sources(package) for line in offences(text, module, is_package)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.modules[0])
def test_every_rule_is_about_something(rule: Rule) -> None:
    modules = [module for package in ("attention_core", "finetune") for module, _, _ in sources(package)]
    for pattern in rule.modules:
        if not pattern.endswith(".*"):
            assert any(fnmatchcase(module, pattern) for module in modules), f"no module is called {pattern}"


@pytest.mark.parametrize(
    ("module", "source", "broken"),
    [
        ("attention_core.oracle", "import numpy as np\nimport math", 0),
        ("attention_core.oracle.truth", "from .masks import causal", 0),
        ("attention_core.oracle.truth", "from ..masking import causal", 1),
        ("attention_core.oracle", "import torch", 1),
        ("attention_core.oracle", "from attention_core import masking", 1),
        ("attention_core.oracle", "from .masking import causal", 1),
        ("attention_core.oracle", "from . import heads", 1),
        ("attention_core.oracle", "import numpy_financial", 1),
        ("attention_core.conformance.laws.value", "from attention_core import oracle", 0),
        ("attention_core.conformance.laws.value", "from ...oracle import attention", 0),
        ("attention_core.conformance.laws.value", "from .. import budget\nimport hypothesis", 0),
        ("attention_core.conformance.laws.value", "def f():\n    import torch.nn", 1),
        ("attention_core.conformance.laws.value", "from ... import kernels, masking", 2),
        ("attention_core.conformance.laws.value", "from attention_core.kernels.aft import aft", 1),
        ("attention_core.cli", "from finetune.models import gpt", 1),
        ("attention_core.cli", "import finetuned", 0),
        ("attention_core.masking", "from attention_core import registry", 1),
        ("attention_core.masking", "import torch", 0),
        ("attention_core.masking.algebra", "from ..oracle import masks", 1),
        ("attention_core.masking", "from .pieces import cut", 0),
        ("attention_core.kernels.dot_product", "from ..modules import synthesizer", 1),
        ("attention_core.kernels.tiled", "from ..masking import causal", 0),
        ("attention_core.kernels.tiled", "from ..oracle import attention", 1),
        ("attention_core.kernels.tiled", "from ..conformance import check_implementation", 1),
        ("attention_core.registry.table", "from attention_core.kernels import aft", 0),
        ("attention_core.registry.table", "from attention_core.conformance import Implementation", 1),
        ("attention_core.registry.table", "from attention_core.declaration.implementation import Implementation", 0),
        ("attention_core.registry.table", "from attention_core.oracle import attention", 1),
        ("finetune.training.train", "from attention_core import attention", 0),
        ("finetune.training.train", "from attention_core.faults import value", 1),
        ("attention_core.conformance.search", "from attention_core import faults", 1),
        ("attention_core.audit.choice", "from attention_core.faults.catalogue import FAULTS", 0),
        ("finetune.faults.trainers", "from attention_core.faults.row import row", 0),
        ("attention_core.faults.value", "from finetune.faults import trainers", 1),
    ],
)
def test_planted_imports_are_judged(module: str, source: str, broken: int) -> None:
    found = offences(source, module)
    assert len(found) == broken, found


def test_relative_imports_of_a_package_start_at_the_package() -> None:
    source = "from .budgets.budget import bound\nfrom .. import oracle"
    names = [name for _, name in imports(source, "attention_core.conformance", is_package=True)]
    assert names == ["attention_core.conformance.budgets.budget.bound", "attention_core.oracle"]


def room_of(module: str, package: str) -> str:
    """Return the folder or file right below a package that holds a module."""
    return DOOR if module == package else module.removeprefix(f"{package}.").partition(".")[0]


def module_graph(files: Mapping[str, tuple[bool, str]]) -> dict[str, set[str]]:
    """Return which of some modules each of them imports, deferred and TYPE_CHECKING imports included."""
    graph: dict[str, set[str]] = {}
    for module, (is_package, source) in files.items():
        graph[module] = set()
        for _, name in imports(source, module, is_package):
            parts = name.split(".")
            starts = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
            graph[module] |= {start for start in [next((s for s in starts if s in files), module)] if start != module}
    return graph


@cache
def graph_of(package: str) -> dict[str, set[str]]:
    """Return the imports between the modules of an installed package."""
    return module_graph({module: (is_package, text) for module, is_package, text in sources(package)})


def within(package: str) -> dict[str, set[str]]:
    """Return the imports between modules of a package or a folder of one."""
    modules = {module for module in graph_of(package.partition(".")[0]) if covers(package, module)}
    return {module: graph_of(package.partition(".")[0])[module] & modules for module in modules}


def rooms_of(graph: Mapping[str, set[str]], package: str) -> dict[str, set[str]]:
    """Return the imports between the rooms of a package."""
    rooms: dict[str, set[str]] = {room_of(module, package): set() for module in graph}
    for module, imported in graph.items():
        rooms[room_of(module, package)] |= {room_of(name, package) for name in imported} - {room_of(module, package)}
    return rooms


def circles(graph: Mapping[str, set[str]]) -> set[frozenset[str]]:
    """Return the largest sets of nodes each of which leads to every other."""
    reach: dict[str, set[str]] = {}
    for start in graph:
        seen, ahead = set[str](), [start]
        while ahead:
            fresh = graph.get(ahead.pop(), set()) - seen
            seen |= fresh
            ahead += fresh
        reach[start] = seen
    return {frozenset(b for b in reach[a] if a in reach[b]) for a in graph if a in reach[a]}


@pytest.mark.parametrize("package", FLOORS)
def test_every_room_has_a_floor(package: str) -> None:
    rooms = [room for floor in FLOORS[package] for room in floor.split()]
    assert sorted(rooms) == sorted(rooms_of(within(package), package)), package


@pytest.mark.parametrize("package", FLOORS)
def test_a_room_imports_only_rooms_of_lower_floors(package: str) -> None:
    height = {room: number for number, floor in enumerate(FLOORS[package]) for room in floor.split()}
    upwards = [
        f"{module} imports {name}"
        for module, imported in sorted(within(package).items())
        for name in sorted(imported)
        if (room := room_of(module, package)) != (other := room_of(name, package)) and height[other] >= height[room]
    ]
    assert not upwards, "\n".join(upwards)


@pytest.mark.parametrize("package", FLOORS)
def test_rooms_form_no_circle(package: str) -> None:
    assert circles(rooms_of(within(package), package)) == set()


@pytest.mark.parametrize("package", FLOORS)
def test_files_form_no_large_circle(package: str) -> None:
    large = [sorted(circle) for circle in circles(within(package)) if len(circle) > LARGEST_CIRCLE]
    assert large == []


def test_planted_circles_are_found() -> None:
    planted = module_graph(
        {
            "p": (True, ""),
            "p.a": (True, "from p.b import two"),
            "p.a.one": (False, "def f():\n    from p.b.two import g"),
            "p.b": (True, ""),
            "p.b.two": (False, "if TYPE_CHECKING:\n    from ..a import one"),
        }
    )
    assert planted["p.a.one"] == {"p.b.two"} and planted["p.b.two"] == {"p.a.one"}
    assert circles(planted) == {frozenset({"p.a.one", "p.b.two"})}
    assert circles(rooms_of(planted, "p")) == {frozenset({"a", "b"})}


def loaded_after(statement: str, package: str) -> set[str]:
    """Return the top-level modules that a fresh interpreter holds after `statement`."""
    code = f"{statement}\nimport sys\nprint(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=package_folder(package).parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert found.returncode == 0, found.stderr
    return set(found.stdout.split())


@pytest.mark.parametrize("package", ["attention_core", "finetune"])
def test_import_is_light(package: str) -> None:
    loaded = loaded_after(f"import {package}", package)
    assert package in loaded
    assert not loaded & set(HEAVY), f"`import {package}` also imports {sorted(loaded & set(HEAVY))}"


def test_the_engine_of_verify_leaves_torch_to_its_workers() -> None:
    loaded = loaded_after("import attention_core.cli, attention_core.conformance.engine.verify", "attention_core")
    assert "torch" not in loaded  # it takes a second of every run


def test_a_heavy_import_would_be_seen() -> None:
    assert loaded_after("import attention_core, sympy", "attention_core") & set(HEAVY) == {"sympy"}


def test_the_first_call_imports_no_compiler() -> None:
    call = "q = torch.zeros(1, 4, 1024, 64); a.attention(q, q, q, masking.sliding_window(64)); a.attention(q[0], q[0], q[0])"
    loaded = loaded_after(
        f"import torch, attention_core as a; from attention_core import masking; {call}", "attention_core"
    )
    assert "sympy" not in loaded  # torch's compiler brings it, which takes a second

"""What the source of a submission shows before anything of it runs: its syntax tree, read with its imports resolved.

A look at text can be deceived. It names what is plainly there, and early; that a cheat does not pay is the work of the
rules that the grader alone sees to (`rules.py`). Nothing is imported or run here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from attention_core.grading.forbidden import FUNCTIONS

CALLS: Mapping[str, tuple[str, ...]] = {
    "frames": (
        "sys._getframe", "sys._current_frames", "inspect.stack", "inspect.currentframe", "inspect.getouterframes",
        "inspect.trace", "traceback.walk_stack", "traceback.extract_stack",
    ),
    "searches_memory": (
        "gc.get_objects", "gc.get_referrers", "gc.get_referents", "ctypes.string_at", "ctypes.memmove",
        "ctypes.c_char.from_address", "weakref.getweakrefs",
    ),
    "ends_process": (
        "os._exit", "os.abort", "os.kill", "os.killpg", "os.getppid", "atexit.register", "atexit._clear",
        "signal.signal", "signal.raise_signal", "signal.pthread_kill", "faulthandler.enable", "os.execv", "os.execve",
        "os.execvp", "psutil.Process",
    ),
    "traces": (
        "sys.settrace", "sys.setprofile", "threading.settrace", "threading.setprofile", "sys.addaudithook",
        "sys.monitoring.register_callback", "sys.monitoring.use_tool_id",
    ),
    "patches_modules": ("unittest.mock.patch", "unittest.mock.patch.object", "importlib.reload"),
    "hidden_code": (
        "exec", "eval", "compile", "marshal.loads", "pickle.loads", "pickle.load", "dill.loads", "cloudpickle.loads",
        "types.CodeType", "types.FunctionType", "codeop.compile_command",
    ),
    "seeds": ("torch.manual_seed", "torch.random.manual_seed", "numpy.random.seed", "random.seed", "torch.seed"),
}  # fmt: skip
"""Functions that no kernel calls, by rule."""
EXEMPT = ("config", "backends")
"""Parts of a library whose settings may be set."""
OPERATORS = ("__torch_function__", "__torch_dispatch__", "__eq__", "__ne__", "__bool__", "__array__", "__allclose__")
TENSORS = ("torch.Tensor", "torch.nn.Parameter", "torch.FloatTensor", "torch._C.TensorBase", "numpy.ndarray")
TELLING = ("ATTENTION_CORE_", "PYTEST_CURRENT_TEST", "KERNELBENCH", "FLASHINFER_BENCH")
"""Names of variables of the environment that tell who calls."""
PATHS = ("/proc/",)


@dataclass(frozen=True)
class Finding:
    """A rule that the source breaks: where, and by which words."""

    rule: str
    file: str
    line: int
    words: str

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}: {self.words}"


def look_at_sources(folder: Path, files: Iterable[Path], forbid: Iterable[str] = ()) -> list[Finding]:
    """What the Python files of a submission show.

    Args:
        folder: of the submission; files: those in it.
        forbid: groups of operators that the task forbids, of `forbidden.GROUPS`.

    >>> look_at_sources(Path(), [])
    []
    """
    found: list[Finding] = []
    for path in sorted(files):
        if path.suffix == ".py":
            name = path.relative_to(folder).as_posix()
            found += look_at_text(path.read_text(encoding="utf-8", errors="replace"), name, forbid)
    return found


def look_at_text(text: str, name: str = "submission.py", forbid: Iterable[str] = ()) -> list[Finding]:
    """What one file shows; a file that cannot be parsed shows nothing, since it cannot be imported either.

    >>> [str(each) for each in look_at_text("import os; os._exit(0)")]
    ['submission.py, line 1: os._exit']
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    look = _Look(name, frozenset(function for group in forbid for function in FUNCTIONS.get(group, ())))
    look.visit(tree)
    return sorted(look.found, key=lambda each: (each.file, each.line))


class _Look(ast.NodeVisitor):
    """Walks one tree; `names` are what its imports and plain assignments bind to dotted names."""

    def __init__(self, file: str, forbidden: frozenset[str]) -> None:
        self.file, self.forbidden = file, forbidden
        self.names: dict[str, str] = {}
        self.modules: set[str] = set()
        self.found: list[Finding] = []
        self.depth = 0  # of functions around what is looked at
        self.rules = {function: rule for rule, functions in CALLS.items() for function in functions}

    def tell(self, rule: str, node: ast.AST, words: str) -> None:
        self.found.append(Finding(rule, self.file, getattr(node, "lineno", 0), words))

    def full_name(self, node: ast.AST) -> str:
        """The full name that an expression has, as far as imports and `getattr` with a text tell it, or ""."""
        if isinstance(node, ast.Name):
            return self.names.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            owner = self.full_name(node.value)
            return f"{owner}.{node.attr}" if owner else ""
        if isinstance(node, ast.Call) and len(node.args) >= 2 and self.full_name(node.func) == "getattr":
            owner, attribute = self.full_name(node.args[0]), node.args[1]
            if owner and isinstance(attribute, ast.Constant) and isinstance(attribute.value, str):
                return f"{owner}.{attribute.value}"
        if isinstance(node, ast.Call) and self.full_name(node.func) in ("__import__", "importlib.import_module"):
            first = node.args[0] if node.args else None
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                return first.value
        return ""

    def is_foreign(self, name: str) -> bool:
        """Whether a dotted name lies in a module that is imported here."""
        return any(name == module or name.startswith(f"{module}.") for module in self.modules)

    # --- what runs when -------------------------------------------------------------------------------

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test).replace('"', "'") == "__name__ == '__main__'":
            for other in node.orelse:
                self.visit(other)
            return  # a file's own tests do not run here
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1

    # --- imports --------------------------------------------------------------------------------------

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.bind(node, alias.name, alias.asname or alias.name.partition(".")[0],
                      alias.name if alias.asname else alias.name.partition(".")[0])  # fmt: skip

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level:
            return
        for alias in node.names:
            full = f"{node.module}.{alias.name}"
            self.bind(node, full, alias.asname or alias.name, full)

    def bind(self, node: ast.AST, full: str, name: str, stands_for: str) -> None:
        self.names[name] = stands_for
        self.modules.add(full.partition(".")[0])
        self.check_import(node, full)

    def check_import(self, node: ast.AST, full: str) -> None:
        if full.partition(".")[0] in ("attention_core", "finetune"):
            self.tell("imports_grader", node, f"import {full}")

    # --- calls ----------------------------------------------------------------------------------------

    def visit_Call(self, node: ast.Call) -> None:
        name = self.full_name(node.func)
        if name == "getattr":
            self.check_name(node)
        if name in ("__import__", "importlib.import_module"):
            self.check_import(node, self.full_name(node))
        if name in ("setattr", "delattr") and node.args:
            self.check_target(node, self.full_name(node.args[0]), "")
        if name in ("os.environ.get", "os.getenv") and node.args:
            self.check_variable(node, node.args[0])
        self.generic_visit(node)

    def check_variable(self, node: ast.AST, key: ast.AST) -> None:
        if isinstance(key, ast.Constant) and str(key.value).upper().startswith(TELLING):
            self.tell("benchmark_check", node, f"os.environ[{key.value!r}]")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.check_name(node)
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        self.check_name(node)

    def check_name(self, node: ast.expr) -> None:
        """A function that is named is as good as called: it may be handed on."""
        if isinstance(getattr(node, "ctx", None), ast.Store):
            return
        name = self.full_name(node)
        bare = isinstance(node, ast.Name)
        rule = self.rules.get(name, "")
        if bare and name == getattr(node, "id", "") and name not in ("exec", "eval", "compile"):
            rule = ""  # a name of its own that is spelled so
        if rule and (rule != "seeds" or self.depth):  # numbers drawn at import do not touch the seed of the inputs
            self.tell(rule, node, name)
        if name in self.forbidden:
            self.tell("forbidden_operator", node, name)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and node.value.startswith(PATHS):
            self.tell("searches_memory", node, node.value[:60])

    # --- what is assigned -----------------------------------------------------------------------------

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self.check_assignment(target)
        first = node.targets[0]
        if len(node.targets) == 1 and isinstance(first, ast.Name):
            name = self.full_name(node.value)
            if name and self.is_foreign(name):
                self.names[first.id] = name
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.check_assignment(node.target)
        self.generic_visit(node)

    def visit_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            self.check_assignment(target)
        self.generic_visit(node)

    def check_assignment(self, target: ast.AST) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            for each in target.elts:
                self.check_assignment(each)
        elif isinstance(target, ast.Attribute):
            self.check_target(target, self.full_name(target.value), target.attr)
        elif isinstance(target, ast.Subscript):
            owner = self.full_name(target.value)
            if owner == "sys.modules" or owner.endswith(".__dict__") or owner == "__builtins__":
                self.tell("patches_modules", target, f"{owner}[...] = ...")

    def check_target(self, node: ast.AST, owner: str, attribute: str) -> None:
        parts = owner.split(".")
        if self.is_foreign(owner) and not set(parts) & set(EXEMPT):
            self.tell("patches_modules", node, f"{owner}.{attribute or '...'} is set")

    # --- classes and handlers -------------------------------------------------------------------------

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for base in node.bases:
            if self.full_name(base) in TENSORS:
                self.tell("tensor_subclass", node, f"class {node.name}({self.full_name(base)})")
        for inner in node.body:
            if isinstance(inner, ast.FunctionDef) and inner.name in OPERATORS:
                self.tell("tensor_subclass", inner, f"{node.name}.{inner.name}")
        self.generic_visit(node)

    def visit_Try(self, node: ast.Try) -> None:
        for handler in node.handlers:
            for call in _calls(handler.body):
                name = self.full_name(call.func)
                if name in ALL_LIBRARY:
                    self.tell("fallback", handler, f"except: {name}")
        self.generic_visit(node)


ALL_LIBRARY = frozenset(FUNCTIONS["attention"])
"""The library's own attention."""


def _calls(body: Iterable[ast.stmt]) -> Iterator[ast.Call]:
    for statement in body:
        yield from (node for node in ast.walk(statement) if isinstance(node, ast.Call))

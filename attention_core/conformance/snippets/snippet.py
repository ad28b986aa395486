"""Turns the calls of a counterexample into a short program that shows the failure without this package.

The program imports the target, builds its arguments with plain torch (or NumPy, JAX), calls it, and asserts what
the law says at the worst element. On a correct implementation the same program passes.

The last lines of a snippet: an assertion that holds on a correct implementation, and fails on the one under test.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from attention_core.conformance.report.flaky import DIFFERENT
from attention_core.conformance.report.law_result import LOST
from attention_core.conformance.snippets.array_text import array_text, assignment, join_lines, literal, values_by_name
from attention_core.conformance.snippets.replay import without_gradients
from attention_core.conformance.subjects.evidence import Evidence, Shown, Violation, round_up
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.outcomes import EVENTS
from attention_core.conformance.worker.exchange import PARAMETER, Array, FlexArgument, Request, Settings
from attention_core.conformance.worker.process_state import GENERATORS
from attention_core.declaration.sizes import ATTENTION
from attention_core.worker.foreign import SUFFIXES

OR_INFINITE = "NaN (or infinite)"
"""In a message: what is wanted is not finite, and need not be NaN."""
ALLOWED = re.compile(r"\(allowed error [^\s;)]+")
"""In a message: the tolerance, which a program states as it asserts it."""
REFUSALS = "(ValueError, TypeError, NotImplementedError, AssertionError, RuntimeError)"


def verdict(evidence: Evidence, message: str) -> list[str]:
    """The last lines: what is so on a correct implementation and not here."""
    words = " ".join(message.split())
    text = repr(words)
    if evidence.kind in ("value", "pair") and evidence.got is not None and evidence.want is not None:
        lines = [] if evidence.kind == "pair" else [f"want = {literal(evidence.want)}"]
        if evidence.kind == "pair" and evidence.times != 1:
            lines = [f"want = {literal(evidence.times)} * want"]
        lines.append("print('got', got, 'but should be', want)")
        if evidence.want != evidence.want and OR_INFINITE in message:
            return [*lines, f"assert not abs(got) < float('inf'), {text}"]
        if evidence.want != evidence.want:
            return [*lines, f"assert got != got, {text}"]
        if evidence.bound is None or abs(evidence.want) == float("inf"):
            return [*lines, f"assert got == want, {text}"]
        allowed = limit(evidence)
        text = repr(ALLOWED.sub(lambda _: f"(allowed error {allowed}", words))
        return [*lines, f"assert abs(got - want) <= {allowed}, {text}"]
    if evidence.kind == "again":
        lines = ["print('from', min(answers), 'to', max(answers))"]
        return [*lines, f"assert max(answers) - min(answers) <= {literal(evidence.bound)}, {text}"]
    if evidence.kind == "nonfinite":
        return ["print('got', got, 'but should be finite')", f"assert abs(got) < float('inf'), {text}"]
    if evidence.kind == "must_raise":
        return [f"except {REFUSALS} as error:", "    print('refused, as it should be:', error)", "else:",
                f"    raise AssertionError({text})"]  # fmt: skip
    if evidence.kind == "seeds":
        return [f"assert states[0] != states[1], {text}"]
    if evidence.kind in ("mutated", "shares", "process"):
        return [f"assert after == before, {text}"]
    if evidence.kind == "shape":
        return shape_verdict(message, text)
    return [f"# {text}"]


def limit(evidence: Evidence) -> str:
    """The allowed error in three digits, as the report has it, where the failure is clear enough for that."""
    assert evidence.bound is not None and evidence.got is not None and evidence.want is not None
    short = round_up(evidence.bound)
    clear = evidence.bound > 0 and not abs(evidence.got - evidence.want) <= 1.02 * evidence.bound  # NaN is clear
    return short if clear and evidence.bound < float("inf") else literal(evidence.bound)


def shape_verdict(message: str, words: str) -> list[str]:
    """What the message asks of the result's type, shape or dtype, as an assertion."""
    shape = re.search(r"shape .*should be (?:bool )?(\([\d, ]*\))", message)
    dtype = re.search(r"dtype .*should be (\w+)", message)
    count = re.search(r"declared to return '([\w,]+)'", message)
    what = "out[1]" if message.startswith("out1") else "out"
    if shape:
        return [f"assert tuple({what}.shape) == {shape[1]}, {words}"]
    if dtype:
        return [f"assert str({what}.dtype).endswith({dtype[1]!r}), {words}"]
    if count:
        wanted = count[1].count(",") + 1
        return [f"assert (len(out) if isinstance(out, tuple | list) else 1) == {wanted}, {words}"]
    return [f"assert hasattr(out, 'shape'), {words}"]


MODULES = {"torch": "import torch", "numpy": "import numpy as np", "jax": "import jax, jax.numpy as jnp, numpy as np"}
PROCESS = ("process", "seeds")
"""Kinds of evidence about what a call changes around it."""
SEEDS = {"torch": "torch.manual_seed", "numpy": "np.random.seed"}

FIND = [
    "def find(name):  # attention is a pair (split, merge), or has both as attributes",
    "    if isinstance(attention, tuple): return attention[('split', 'merge').index(name)]",
    "    return getattr(attention, name, None) or getattr(attention, name + '_heads')",
]

PLANNED = [
    "from attention_core.conformance.worker.planned import call_planned",
    "attention = call_planned(attention)  # plans, then runs",
]
STAND_IN = [
    "from types import SimpleNamespace",
    "with_module = attention",
    "def attention(query, key, value, **options):  # with a stand-in for its module",
    "    groups = query.shape[-3] // max(key.shape[-3], 1)",
    "    drops = bool(options.get('dropout') or options.get('dropout_p'))",
    "    module = SimpleNamespace(num_key_value_groups=groups, is_causal=False, training=drops)",
    "    return with_module(module, query, key, value, **options)",
]
"""What a snippet puts before a function that wants the module it belongs to."""


def render(subject: Any, law: Law, violation: Violation) -> str:
    """The snippet for one violation."""
    evidence = violation.evidence
    program = Program(subject.implementation, violation.message)
    for number, shown in enumerate(evidence.before, len(evidence.calls)):
        program.call(shown, number, evidence)
    for number, shown in enumerate(evidence.calls):
        program.call(shown, number, evidence)
    if evidence.kind == "again":
        program.lines = ["answers = []", "for _ in range(1000):", *(f"    {line}" for line in program.lines)]
        program.lines.append("    answers.append(got)")
    if evidence.kind == "seeds":
        seed, state = GENERATORS[evidence.calls[0].expression]
        inside = [seed.format("seed"), *program.lines, f"states.append({state})"]
        program.lines = ["states = []", "for seed in (1, 2):", *(f"    {line}" for line in inside)]
    program.lines += verdict(evidence, violation.message)
    body = "\n".join(program.lines)
    names = [name for name in ("inf", "nan") if re.search(rf"(?<!['\w.]){name}\b(?!')", body)]
    met = evidence.event
    top = [f"# {met}: {EVENTS[met]}" if met else f"# {law.name}: {law.sentence}", *imports(subject)]
    top[1:1] = ["import faulthandler"] if "faulthandler." in body else []
    top[1:1] = [f"from math import {', '.join(names)}"] if names else []
    used = [name for name in ("os", "random", "warnings") if evidence.kind in PROCESS and f"{name}." in body]
    used += ["numpy as np"] if evidence.kind in PROCESS and "np." in body and "numpy as np" not in "".join(top) else []
    top[1:1] = [f"import {', '.join(used)}"] if used else []
    if evidence.before:
        top.append("# all calls in this order: the last one may be right where those before it are left out")
    if not evidence.alone:
        top.append(
            "# by itself this may pass: it failed after other calls of the run, and no single one of them explains it"
        )
    elif evidence.event == DIFFERENT and evidence.kind != "again" and not evidence.before:
        top.append("# by itself this may pass: what it gave differed after other calls of the run")
    if "zlib." in body:
        top[1:1] = ["import base64, zlib"]
        top.append(explain_packing(evidence))
    return "\n".join([*top, body]) + "\n"


def imports(subject: Any) -> list[str]:
    """Import lines: the array library and the target under the name `attention`."""
    implementation = subject.implementation
    lines = [MODULES[implementation.array]]
    if implementation.array == "jax" and implementation.asks_float64:
        lines.append("jax.config.update('jax_enable_x64', True)")
    text = implementation.parameters.get("snippet") or import_of(getattr(subject, "origin", ""), implementation)
    lines += [line for line in str(text).splitlines() if line not in lines]
    if getattr(subject, "stand_in", False):
        lines += STAND_IN
    if getattr(subject, "description", {}).get("planned"):
        lines += PLANNED
    lines += adapted(getattr(subject, "description", {}), implementation)
    if implementation.contract == "heads":
        lines += FIND
    if implementation.array == "torch" and implementation.device != "cpu":
        lines.append(f"torch.set_default_device({implementation.device!r})")
    return lines


def adapted(description: Any, implementation: Any) -> list[str]:
    """Lines that call a target with objects of masks, or an operator over pages, as the judge did."""
    if description.get("operator"):
        return [
            "from attention_core.conformance.worker.grouped_operator import call_over_pages",
            "attention = call_over_pages(attention)  # what is in pages is its past",
        ]
    if (masks := description.get("mask_objects", {})).get("given"):
        where = masks["causal"]
        return [
            "from attention_core.conformance.worker.mask_objects import call_with_masks",
            f"attention = call_with_masks(attention, {implementation.contract!r}, {where!r})  # with objects as masks",
        ]
    return []


def import_of(origin: str, implementation: Any) -> str:
    """The line that imports a target, and the one that names it `attention` where it has another name."""
    call = "()" if implementation.factory else ""
    where, _, name = origin.rpartition(":")
    first = ", ".join(dict.fromkeys(part.strip().split(".")[0] for part in name.split(",")))
    if origin.endswith(SUFFIXES) or where.endswith(SUFFIXES):
        load = "from attention_core.worker.target import load_target"
        return f"{load}\nattention = load_target({origin!r})"
    if where.endswith(".py"):
        folder, _, file = where.rpartition("/")
        if not file[:-3].isidentifier():
            return f"import runpy\nattention = runpy.run_path({where!r})[{name!r}]{call}"
        path = [f"import sys; sys.path.insert(0, {folder!r})"] if folder else []
        return "\n".join([*path, f"from {file[:-3]} import {first}", *named_attention(f"{name}{call}")])
    if where:
        return "\n".join([f"from {where} import {first}", *named_attention(f"{name}{call}")])
    function = implementation.function
    module, qualname = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    if module and module != "__main__" and qualname.isidentifier():
        return "\n".join([f"from {module} import {qualname}", *named_attention(f"{qualname}{call}")])
    return "# put your implementation here:  attention = ..."


def named_attention(expression: str) -> list[str]:
    """The line that gives the target its name in the program, unless it is imported under it."""
    return [] if expression == "attention" else [f"attention = {expression}"]


def try_to_call(call: str) -> list[str]:
    """The lines of a call that the target declined."""
    return ["try:", f"    {call}", f"except {REFUSALS} as error:", "    print('declined:', error)"]


@dataclass
class Program:
    """The lines of a snippet as they come about; a later call reuses the arrays of an earlier one."""

    implementation: Any
    message: str = ""
    lines: list[str] = field(default_factory=list)
    written: dict[tuple[str, str], str] = field(default_factory=dict)
    filled: dict[str, Mapping[str, Array]] = field(default_factory=dict)

    def call(self, shown: Shown, number: int, evidence: Evidence) -> None:
        """One call, and its value in question in `got` (first call) or `want` (second call)."""
        request = shown.request
        watching = evidence.kind in ("mutated", "shares")
        earlier = request.earlier
        fresh = watching or earlier is not None or bool(request.written)
        variables = self.arguments(earlier or request, number, fresh=fresh)
        out = "out" if number == 0 else "other" if number == 1 else f"out{number + 1}"
        target = self.target(request)
        call = self.call_text(target, request, variables, number)
        if request.written:  # the results are what it wrote into its arguments
            call = f"({', '.join([call, *(variables[name] for name in request.written)])})[1:]"
        off = switched_off(request, evidence)
        if earlier is not None:
            self.lines.append(f"{off}earlier = {call}")
            self.refill(request, variables)
        if evidence.kind == "must_raise" or shown.declined:
            self.lines += try_to_call(off + call) if shown.declined else ["try:", f"    {off}{out} = {call}"]
            return
        watched = [variables[n] for n, a in name_arguments(request).items() if isinstance(a, Array)]
        if watching:
            watched += self.cotangent(request)
            self.lines.append(f"before = {self.memory(watched)}")
        if self.implementation.array == "jax" and request.wrt:
            self.vjp(shown, number, call, variables)
            return
        several = "," in self.implementation.returns and (request.wrt or (shown.quantity == "out" and shown.index))
        line = f"{off}{out} = {call}{f'[{request.of}]' if several else ''}"
        if evidence.kind == "process":
            self.lines.append(f"before = {shown.expression}")
        self.lines += guard_call(line, evidence.event, self.message) if number == len(evidence.calls) - 1 else [line]
        if request.between is not None:
            self.call_between(target, request, request.between, number + 1, out, evidence)
        if request.wrt and evidence.kind != "shape":
            self.differentiate(target, request, out, variables, "down" if "down" in watched else "")
        self.read_result(shown, number, out, variables, evidence, watched if watching else None)
        if request.overwrite:
            self.overwrite(request, out, variables)

    def read_result(
        self, shown: Shown, number: int, out: str, variables: Mapping[str, str], evidence: Evidence,
        watched: list[str] | None,
    ) -> None:  # fmt: skip
        """The lines after a call that read what it gave, or what it left of the arrays that are watched."""
        if evidence.kind == "process":
            self.lines.append(f"after = {shown.expression}")
        if evidence.kind == "shares":
            self.write(shown, out, evidence)
        if watched is not None:
            self.lines.append(f"after = {self.memory(watched)}")
        elif shown.index:
            self.select(shown, number, out, variables)

    def call_between(
        self, target: str, request: Request, other: Request, number: int, out: str, evidence: Evidence
    ) -> None:
        """The line of a call that is made while the result of another one is alive."""
        given = self.arguments(other, number, fresh=True)
        text = self.call_text(target, other, given, number)
        self.lines.append(switched_off(other, evidence) + between(request, text, out))

    def call_text(self, target: str, request: Request, variables: Mapping[str, str], number: int) -> str:
        """The call of a request with its arguments by place and by name; writes the lines that pack them."""
        places = self.pack(request, [variables[str(i)] for i in range(len(request.args))], number)
        return f"{target}({', '.join(places + [f'{k}={variables[k]}' for k in request.kwargs])})"

    def differentiate(self, target: str, request: Request, out: str, variables: dict[str, str], down: str) -> None:
        """The lines of the derivatives of an output; the parameters that they are by enter the variables."""
        if request.loose:  # it may return one value, or more than the one that is differentiated
            self.lines.append(f"{out} = {out}[{request.of}] if isinstance({out}, tuple) else {out}")
        variables |= self.parameters(target, request, out)
        self.lines += derivative(request, out, variables, down)

    def pack(self, request: Request, places: list[str], number: int) -> list[str]:
        """The arguments by place, the first three as views of one array where the target takes that."""
        if request.stacked is None:
            return places
        array = self.implementation.array
        library = {"torch": "torch", "numpy": "np", "jax": "jnp"}[array]
        parts = ", ".join(places[:3])
        whole = f"{library}.stack(({parts}), {request.stacked})"
        if request.wrt or array == "jax":
            return [whole, *places[3:]]
        name = f"qkv{number + 1 if number else ''}"
        views = (
            f"{name}.unbind({request.stacked})" if array == "torch" else f"np.moveaxis({name}, {request.stacked}, 0)"
        )
        self.lines.append(f"{name} = {whole}; {parts} = {views}")
        return [name, *places[3:]]

    def parameters(self, target: str, request: Request, out: str) -> dict[str, str]:
        """A request's name of a module's parameter -> an expression for it; writes the lines before a derivative."""
        if request.instance is None:
            return {}
        self.lines.append(f"{out} = {out}[{request.of}] if isinstance({out}, tuple) else {out}")
        self.lines.append(f"{target}.zero_grad()")
        own = [name for name in request.wrt if name.startswith(PARAMETER)]
        return {name: f"list({target}.parameters())[{name.removeprefix(PARAMETER)}]" for name in own}

    def overwrite(self, request: Request, out: str, variables: Mapping[str, str]) -> None:
        """What the caller writes into its arrays, or into what it got; later calls build such arrays anew."""
        if self.implementation.array == "jax":
            return
        if request.overwrite == "outputs":
            self.lines.append(f"{out}[...] = ~{out} if str({out}.dtype).endswith('bool') else nan  # the caller's own")
            return
        arrays = {variables[name]: a for name, a in name_arguments(request).items() if isinstance(a, Array)}
        new = {"bool": "~{0}", "int64": "{0} + 1", "int32": "{0} + 1", "uint8": "{0} + 1"}
        self.change({x: new.get(a.dtype, "nan").format(x) for x, a in arrays.items()})

    def refill(self, request: Request, variables: Mapping[str, str]) -> None:
        """What the caller writes into the arrays of an earlier call before it makes this one."""
        arrays = {variables[name]: a for name, a in name_arguments(request).items() if isinstance(a, Array)}
        self.change({x: array_text(a, self.implementation.array) for x, a in arrays.items()})

    def change(self, texts: Mapping[str, str]) -> None:
        """A line that writes other numbers into arrays of the caller; later calls build theirs anew."""
        lines = [f"{x}[...] = {text}" for x, text in texts.items()]
        self.lines.append("; ".join(lines) + "  # the caller's own")
        self.written = {key: x for key, x in self.written.items() if x not in texts or not key[1]}

    def arguments(self, request: Request, number: int, fresh: bool) -> dict[str, str]:
        """Argument name -> the variable or literal that stands for it; writes the variables."""
        variables: dict[str, str] = {}
        same, written = dict(request.same), len(self.lines)
        for key, argument in name_arguments(request).items():
            if key in same:
                continue
            name = "qkv"[int(key)] if key in ("0", "1", "2") and len(request.args) == 3 else key
            name = f"a{key}" if name.isdigit() else name
            if isinstance(argument, FlexArgument):
                variables[key] = self.flex_argument(name, argument)
                continue
            if not isinstance(argument, Array):
                variables[key] = self.value(argument)
                continue
            text = array_text(argument, self.implementation.array)
            own = key in request.wrt and self.implementation.array == "torch"
            known = None if own or fresh else self.written.get((name, text))
            if known is None:
                known = name if (name, "") not in self.written else f"{name}{number + 1}"
                self.lines.append(assignment(known, argument, self.implementation.array, gradient=own))
                self.written[name, ""] = known
                if not own:
                    self.written[name, text] = known
            variables[key] = known
        self.lines[written:] = join_lines(self.lines[written:])
        return variables | {key: variables[other] for key, other in same.items()}

    def flex_argument(self, name: str, argument: FlexArgument) -> str:
        """An expression for an argument of FlexAttention, after the line of the table that it looks things up in."""
        table, number = f"{name}_table", sum(line.startswith(f"{name}_table") for line in self.lines)
        table += str(number + 1) * bool(number)
        self.lines.append(assignment(table, argument.table))
        B, H, n_q, n_kv = argument.table.shape
        entry = f"{table}[b % {B}, h % {H}, i, j]"
        if argument.kind == "score_mod":
            return f"lambda s, b, h, i, j: s + {entry}"
        if argument.kind == "mask_mod":
            return f"lambda b, h, i, j: {entry}"
        start = "from torch.nn.attention.flex_attention import create_block_mask"
        self.lines += [] if start in self.lines else [start]
        sizes = f"{B}, {H}, {n_q}, {n_kv}, 'cpu', {argument.block}"
        return f"create_block_mask(lambda b, h, i, j: {entry}, {sizes})"

    def value(self, argument: Any) -> str:
        """What is not an array, as text: a scalar, or a tuple that may hold arrays."""
        if isinstance(argument, tuple) and any(isinstance(one, Array) for one in argument):
            return f"({', '.join(array_text(one, self.implementation.array) for one in argument)})"
        return literal(argument)

    def target(self, request: Request) -> str:
        """What is called, after the lines that prepare it."""
        target = "attention"
        array = self.implementation.array
        if request.seed is not None and array in SEEDS:
            self.lines.append(f"{SEEDS[array]}({request.seed})")
        if request.threads is not None and array == "torch":
            self.lines.append(f"torch.set_num_threads({request.threads})")
        if request.instance is not None:
            number, given, *by_name = request.instance
            target = "module" if ("module", "") not in self.written else f"module{number}"
            if ("module", str(number)) in self.written:
                target = self.written["module", str(number)]
            else:
                keywords = by_name[0] if by_name else {}
                self.lines += config_lines([*given, *keywords.values()])
                texts = [*map(format_argument, given), *(f"{k}={format_argument(v)}" for k, v in keywords.items())]
                self.lines.append(f"{target} = attention({', '.join(texts)})")
                self.written["module", ""] = self.written["module", str(number)] = target
        if request.mode is not None and array == "torch" and self.written.get((target, "mode")) != request.mode:
            train, self.written[target, "mode"] = request.mode == "train", request.mode
            self.lines.append(f"if isinstance({target}, torch.nn.Module): {target}.train({train})")
        if request.parameters is not None:
            self.fill(target, request)
        if self.implementation.contract == "heads":
            return f"find({request.method!r})"
        return target if request.method is None else f"{target}.{request.method}"

    def fill(self, target: str, request: Request) -> None:
        """Lines that give a module's parameters their values, as far as it does not have them from a call before."""
        known, given = self.filled.get(target, {}), dict(request.parameters or {})
        changed = {name: value for name, value in given.items() if not same_array(known.get(name), value)}
        if target in self.filled and not changed:
            return
        self.filled[target] = given
        numbered = any(re.search(r"_\d+\b", name) for name in given)  # may be numbered by instance
        values = values_by_name(given if numbered else changed)
        if self.written.get(("values", "")) != "\n".join(values):
            self.written["values", ""] = "\n".join(values)
            self.lines += values
        if numbered:
            copied = f"[p.copy_(v) for p, v in zip({target}.parameters(), values.values(), strict=True)]"
        else:
            copied = f"[p.copy_(values[name]) for name, p in {target}.named_parameters() if name in values]"
        self.lines.append(f"with torch.no_grad(): {copied}")

    def write(self, shown: Shown, out: str, evidence: Evidence) -> None:
        """A line that writes into the result, as its owner may."""
        which = f"[{shown.quantity[3:] or 0}]" if "," in self.implementation.returns else ""
        free = ".detach()" if self.implementation.array == "torch" else ""
        self.lines.append(f"{out}{which}{free}[{', '.join(map(str, shown.index))}] = {evidence.want}")

    def memory(self, variables: list[str]) -> str:
        """An expression for the bytes of some arrays, what lies around views included."""
        each = {
            "torch": "(bytes(x.untyped_storage().cpu()), x.shape, x.stride())",
            "numpy": "(x.tobytes(), x.shape, x.strides)",
        }.get(self.implementation.array, "x.tobytes()")
        return f"[{each} for x in [{', '.join(variables)}]]"

    def cotangent(self, request: Request) -> list[str]:
        """The name of the array that a derivative is given, as it may be written into like an input."""
        if self.implementation.array != "torch" or not request.wrt or request.cotangent is None:
            return []
        self.lines.append(assignment("down", request.cotangent))
        return ["down"]

    def select(self, shown: Shown, number: int, out: str, variables: Mapping[str, str]) -> None:
        """The element in question, as a number."""
        quantity, _, name = shown.quantity.partition(":")
        if quantity in ("grad", "second"):
            what = f"{variables[name]}.grad"
        elif len(quantity) > 3:
            what = f"{out}[{quantity[3:]}]"
        else:
            what = out
            if self.implementation.contract not in ATTENTION:
                self.lines.append(f"{out} = {out}[0] if isinstance({out}, tuple) else {out}")
        where = ", ".join(map(str, shown.index))
        text = shown.expression.format(out=out) if shown.expression else f"{what}[{where}].item()"
        text = f"0.0 if {what} is None else {text}  # None: no gradient came" if shown.missing else text
        self.lines.append(f"{'got' if number == 0 else 'want'} = {text}")

    def vjp(self, shown: Shown, number: int, call: str, variables: Mapping[str, str]) -> None:
        """JAX: a derivative is a pull-back of the cotangent."""
        request = shown.request
        assert request.cotangent is not None
        inputs = ", ".join(variables[name] for name in request.wrt)
        several = f"[{request.of}]" if "," in self.implementation.returns else ""
        self.lines.append(f"out, pull = jax.vjp(lambda {inputs}: {call}{several}, {inputs})")
        self.lines.append(f"gradients = pull({array_text(request.cotangent, 'jax')})")
        if shown.index:
            name = shown.quantity.partition(":")[2]
            what = f"gradients[{request.wrt.index(name)}]" if name else "out"
            where = ", ".join(map(str, shown.index))
            self.lines.append(f"{'got' if number == 0 else 'want'} = {what}[{where}].item()")


def format_argument(argument: Any) -> str:
    """A constructor's argument as text; a config stands under its name."""
    return "config" if isinstance(argument, Settings) else repr(argument)


def config_lines(arguments: list[Any]) -> list[str]:
    """Lines that build the config among a constructor's arguments, if there is one."""
    settings = next((a for a in arguments if isinstance(a, Settings)), None)
    if settings is None:
        return []
    values = ", ".join(f"{k}={v!r}" for k, v in settings.values.items())
    if settings.keyed:
        return [f"config = dict({values})"]
    if not settings.of:
        return ["from types import SimpleNamespace", f"config = SimpleNamespace({values})"]
    module, _, name = settings.of.partition(":")
    return [f"from {module} import {name}", f"config = {name}({values})", "config._attn_implementation = 'eager'"]


def between(request: Request, call: str, out: str) -> str:
    """The line of what is called before the result in `out` is looked at."""
    if request.betweens > 1:
        return f"between = [{call} for _ in range({request.betweens})]  # their numbers are not those of {out}"
    stays = "graph stays alive" if request.wrt else f"numbers are not those of {out}"
    return f"between = {call}  # its {stays}"


def explain_packing(evidence: Evidence) -> str:
    """A remark on packed arrays: how many numbers they hold, and why there are no fewer."""
    arrays = [a for shown in evidence.calls for a in name_arguments(shown.request).values() if isinstance(a, Array)]
    most = max(np.asarray(a.base).size for a in arrays) if arrays else 0
    lost = evidence.event in LOST
    reason = "every smaller case would cost a lost call" if lost else "no smaller case that was tried fails like this"
    return f"# up to {most} numbers in an array, packed: {reason}"


def guard_call(line: str, event: str, message: str) -> list[str]:
    """The call that is lost, as lines that fail where it is: an exit, and what does not end, would say nothing."""
    if event == "exit" and "sys.exit" in message:
        text = repr(" ".join(message.split()))
        return ["try:", f"    {line}", "except SystemExit:", f"    raise AssertionError({text}) from None"]
    limit = re.search(r"no answer within ([\d.e+]+) s", message)
    if event in ("hang", "flood") and limit:
        stop = f"faulthandler.dump_traceback_later({limit[1]}, exit=True)"
        return [f"{stop}  # shows where it is by then, and fails", line, "faulthandler.cancel_dump_traceback_later()"]
    return [line]


def name_arguments(request: Request) -> dict[str, Any]:
    """All arguments of a request by place or name."""
    return {str(i): a for i, a in enumerate(request.args)} | dict(request.kwargs)


def switched_off(request: Request, evidence: Evidence) -> str:
    """How the line of a call begins where it matters that the suite makes this call without gradients."""
    return "with torch.no_grad(): " if evidence.no_grad and without_gradients(request) else ""


def derivative(request: Request, out: str, variables: Mapping[str, str], down: str = "") -> list[str]:
    """Lines that leave first (or second) derivatives in the `.grad` of the inputs; `down` names the cotangent."""
    assert request.cotangent is not None
    cotangent, before = down or array_text(request.cotangent), list[str]()
    if not down and "; " in (filled := assignment("down", request.cotangent)):
        cotangent, before = "down", [filled]
    if request.second is None:
        once = f"{out}.backward({cotangent}"
        if request.backwards == 1:
            return [*before, f"{once})"]
        inputs = ", ".join(variables[name] for name in request.wrt)
        again = [f"{once}, retain_graph=True)", f"for x in ({inputs},): x.grad = None"]
        return [*before, *again * (request.backwards - 1), f"{once})  # the same graph again"]
    inputs = ", ".join(variables[name] for name in request.wrt)
    lines = [*before, f"first = torch.autograd.grad({out}, [{inputs}], {cotangent}, create_graph=True)"]
    directions = ", ".join(array_text(d) for d in request.second)
    return [*lines, f"sum((g * w).sum() for g, w in zip(first, [{directions}])).backward()"]


def same_array(one: Array | None, other: Array) -> bool:
    """Whether two arrays hold the same numbers, laid out alike."""
    if one is None or (one.dtype, one.shape, one.strides, one.offset) != (
        other.dtype, other.shape, other.strides, other.offset
    ):  # fmt: skip
        return False
    return bool(np.array_equal(one.base, other.base))

"""The parameters of a target that no law tests: found by what the calls of a run gave a value, whatever the contract.

A parameter is tested if some call that was answered gave it a value of its own, bound if `--arg` (or a partial) fixes
it, and refused if every call that gave it one was declined. What is left is named, and keeps a target from conforming
unless `--untested NAME` accepts it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import chain
from typing import Any

from attention_core.conformance.worker.bound_parameters import CONSTRUCTOR, FACTORY, FIXED, GIVEN, NEUTRAL
from attention_core.conformance.worker.exchange import Request, Response, Settings
from attention_core.conformance.worker.history import History
from attention_core.declaration.aliases import WEIGHTS
from attention_core.declaration.features import FEATURES
from attention_core.declaration.implementation import ALIASES, CLAIMS, Implementation, TargetError

RANKS = ("left", "refused", "bound", "tested")
"""What can become of a parameter, the least first."""
CALLED = {"forward": ""}
"""A module that is called is its `forward`: what one of the two was given, the other was."""
PARTS: Mapping[str, str] = {"lse_gradient": "the log-sum-exp has no gradient"}
"""What laws may leave untested that is not a parameter (`Law.untested`): why, since no value can be fixed."""
Fates = dict[tuple[str, str], str]


class RecordingRunner:
    """A runner that notes which parameters of the target its calls give a value; all else is the runner's own."""

    def __init__(self, runner: Any) -> None:
        self._runner = runner
        self.fates: Fates = {}
        self.history = History()
        self.judging = True  # whether what a call gives a value counts as tested
        self.built: dict[str, Any] = {}  # parameter of the constructor -> what the latest instance was built with
        self.values: dict[str, list[Any]] = {}  # the same with all values of judged calls, settings of a config too

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runner, name)

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Calls that only look how the target is called: a parameter that they try is not tested by that."""
        before, self.judging = self.judging, False
        try:
            yield
        finally:
            self.judging = before

    def run(self, request: Request, meanwhile: Callable[[], object] | None = None) -> Response:
        response: Response = self._runner.run(request, meanwhile)
        fates = {} if request.describe else fates_of(response)  # what is only described is given no value
        if not self.judging:
            fates = {key: "left" if fate == "tested" else fate for key, fate in fates.items()}
        join(self.fates, fates)
        if request.instance is not None and CONSTRUCTOR in response.bound:
            _, places, *names = request.instance
            self.built = dict(zip(response.bound[CONSTRUCTOR], places, strict=False)) | dict(*names)
            if self.judging and response.status == "ok":
                self._note_values()
        self.history.note(request)
        return response

    def _note_values(self) -> None:
        settings = [value.values for value in self.built.values() if isinstance(value, Settings)]
        for name, value in chain(self.built.items(), *(one.items() for one in settings)):
            seen = self.values.setdefault(name, [])
            if isinstance(value, bool | int | float | str | None) and value not in seen:
                seen.append(value)


def fates_of(response: Response) -> Fates:
    """(callable, parameter) -> what became of it in one call; what a constructor is given, every module has."""
    given = "tested" if response.status == "ok" else "refused"
    became = {GIVEN: given, FIXED: "bound"}
    built = {**became, NEUTRAL: "bound"}
    return {
        (CALLED.get(label, label), name): (built if label == CONSTRUCTOR else became).get(how, "left")
        for label, names in response.bound.items() for name, how in names.items()
    }  # fmt: skip


def join(fates: Fates, others: Mapping[tuple[str, str], str]) -> None:
    """Take the best fate of every parameter."""
    for key, fate in others.items():
        if RANKS.index(fate) >= RANKS.index(fates.get(key, "left")):
            fates[key] = fate


def silent_parameters(fates: Fates, implementation: Implementation, binding: Any = None) -> list[str]:
    """The names of the parameters that no law tests and nothing binds, in the order of the signature.

    What a `binding` of the attention contract does not claim is not tested whatever value each call gives it. A window,
    a cap or another feature whose every value was declined was perhaps given in another form than the target's.
    """
    names = getattr(binding, "names", {})
    claimed = {names.get(claim, claim) for claim in getattr(binding, "claims", ())}
    found: dict[str, bool] = {}
    for (_, name), fate in fates.items():
        unclaimed = binding is not None and ALIASES.get(name, name) in (*CLAIMS, *FEATURES)
        unclaimed = unclaimed and name not in claimed
        declined = fate == "refused" and ALIASES.get(name, name) in FEATURES
        silent = fate == "left" or declined or (unclaimed and fate == "tested")
        if silent and name not in implementation.arguments:
            found[name] = True
    return list(found)


def declined_features(laws: Sequence[Any], status: Mapping[str, str], subject: Any) -> list[str]:
    """The target's names of features of which it declines every comparison with the truth, whatever else it answers."""
    own = getattr(subject.binding, "names", None) or getattr(subject, "roles", {})
    return [own.get(law.feature, law.feature) for law in laws if law.feature and status.get(law.name) == "refused"]


def check_names(accepted: Sequence[str], known: Iterable[str], target: str) -> None:
    """Refuse names that the target does not have.

    Raises:
        TargetError: the first such name, with the nearest that there is.
    """
    there_are = list(known)
    for name in accepted:
        if name not in there_are:
            near = get_close_matches(name, there_are, 1)
            hint = f"; did you mean {near[0]}?" if near else f"; it has: {', '.join(there_are) or 'none'}"
            raise TargetError(f"--untested {name}: {target} has no parameter of that name{hint}")


def fixed_in_constructor(
    fates: Fates, built: Mapping[str, Any], form: Any, others: Mapping[str, Sequence[Any]]
) -> list[str]:
    """What every module was built with beside its sizes, each as NAME=VALUE, such as a dropout of 0.

    Args:
        fates: what became of the parameters; fixed is one that every call gave a value which says nothing.
        built: the values of parameters of the constructor.
        form: the form of a module, with the constants of its config; None of other targets.
        others: all values that parameters had in judged calls; another than the usual one is for evaluation alone.
    """
    names = [name for (label, name), fate in fates.items() if label == CONSTRUCTOR and fate == "bound"]
    constants = {} if form is None else form.construction.constants
    values = {**{name: built.get(name) for name in names}, **constants}
    return [f"{name}={value!r}{in_evaluation(value, others.get(name, ()))}" for name, value in values.items()]


def in_evaluation(usual: Any, values: Sequence[Any]) -> str:
    """The remark on other values than the usual one: modules that drop are built for evaluation alone.

    Example:
        >>> in_evaluation(0.0, [0.0, 0.5])
        ' (0.5 in evaluation)'
    """
    others = [repr(value) for value in values if value != usual]
    return f" ({', '.join(others)} in evaluation)" if others else ""


def left_in_constructor(fates: Fates) -> list[str]:
    """The parameters of a constructor, or a factory, that no call gave a value."""
    return [name for (label, name), fate in fates.items() if label in (CONSTRUCTOR, FACTORY) and fate == "left"]


def what_to_do(names: Sequence[str], constructed: Sequence[str] = (), *, configured: bool = True) -> str:
    """The sentence of a report on what no law tests: parameters, and parts of the result, which no option fixes.

    Args:
        names: the parameters, and parts of the result that `PARTS` has.
        constructed: those of them that are a constructor's.
        configured: whether `--config` gives a constructor its values; else a factory has to.

    Example:
        >>> what_to_do(["sinks"])
        'no law tests sinks: fix its value with --arg sinks=VALUE, or accept it with --untested sinks'
        >>> what_to_do(["qk_norm"], ["qk_norm"])
        'no law tests qk_norm: fix its value with --config qk_norm=VALUE, or accept it with --untested qk_norm'
        >>> what_to_do(["need_weights"]).partition(": fix")[0]
        'no law tests need_weights (if need_weights asks for the weights: --parameter weights_flag=need_weights)'
        >>> what_to_do(["lse_gradient"])
        'no law tests lse_gradient (the log-sum-exp has no gradient): accept it with --untested lse_gradient'
    """
    parts, listed = [name for name in names if name in PARTS], ", ".join(names)
    because = f" ({'; '.join(PARTS[name] for name in parts)})" if parts else ""
    it, accepted = "it" if len(names) == 1 else "them", f"with --untested {','.join(names)}"
    names = [name for name in names if name not in PARTS]
    if not names:
        return f"no law tests {listed}{because}: accept {it} {accepted}"
    its, one = ("its value", names[0]) if len(names) == 1 else ("their values", "NAME")
    if parts:
        its = f"the {its.split()[1]} of {', '.join(names)}"
    built = [name for name in names if name in constructed]
    how = f"with --config {one}=VALUE" if configured else "in a factory of your own"
    if not built:
        how = f"with --arg {one}=VALUE"
    elif len(built) < len(names):
        how = f"with --arg NAME=VALUE ({', '.join(built)} {how})"
    flag = next((name for name in names if name in WEIGHTS and configured), "")
    asks = f" (if {flag} asks for the weights: --parameter weights_flag={flag})" if flag else ""
    return f"no law tests {listed}{because}{asks}: fix {its} {how}, or accept {it} {accepted}"

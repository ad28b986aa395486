"""Notes of a report: what a reader should know of how a target was tested."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from attention_core.conformance.cases.space import POOL
from attention_core.conformance.contracts import Contract
from attention_core.conformance.laws.chance import DROPOUT
from attention_core.conformance.report.law_result import LawResult
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.worker.runner import Runner
from attention_core.conformance.worker.written_sizes import is_size
from attention_core.declaration.implementation import Implementation, usual, usual_dead_rows

UNJUDGED = {
    DROPOUT: "its calls are random there: which weights go, how the others are scaled, and gradients under it; "
    "the dropout of a function with dropout_p is judged",
}
"""What no law judges -> why, and what that leaves open."""


def about_pool(compiler: str, runner: Runner) -> list[str]:
    """Say that sizes are drawn from a pool, and why.

    Args:
        compiler: What compiles a program for each shape, "" where the pool is declared.
        runner: What calls the target.
    """
    why = f", as {compiler} compiles a program for each" if compiler else ""
    found = [f"sizes are drawn from a pool of {len(POOL)} shapes{why} (--shapes free: from all)"]
    if compiler == "JAX" and runner.isolated:
        found.append("calls are compiled by jax.jit, not optimised, but those of laws about what calls leave behind")
    return found


def about_gradients(implementation: Implementation, contract: Contract) -> list[str]:
    """Say that gradients are not declined, but no law of the contract tests them."""
    silent = implementation.gradients and not contract.gradients
    return [f"gradients are not tested: no law of {contract.name} asks for any"] if silent else []


def about_stand_ins(description: Mapping[str, Any]) -> list[str]:
    """Say what was not the target's own: the module that a function gets, the device that a kernel runs on."""
    what = "num_key_value_groups, is_causal=False, training only where something drops"
    found = [f"its module is a stand-in ({what})"] if description.get("stand_in") else []
    if description.get("interpreted"):
        found.append("it ran in Triton's interpreter: not compiled, one program after another")
    if description.get("simulated"):
        found.append("it ran in numba's simulator: not compiled, blocks one after another")
    return found


def after_the_laws(session: Any, results: Sequence[LawResult]) -> list[str]:
    """Say what the results, and what the laws met, add to what was known before them."""
    implementation = session.implementation
    return [
        *(about_absent(session.laws, results) if implementation.gradients else []),
        *about_fixed_parameters(session.fixed_parameters),
        *list_gaps(results),
        *about_sizes(session.subject.met, implementation.arguments),
        *about_fewest(len(session.fewest)),
    ]


def about_fixed_parameters(fixed: Sequence[str]) -> list[str]:
    """Name the constructor's arguments that are tested with one value only.

    Example:
        >>> about_fixed_parameters(["bias=True"])
        ['fixed in the constructor, where no other value is tested: bias=True']
    """
    but = " but in evaluation" if any(value.endswith(" in evaluation)") for value in fixed) else ""
    return [f"fixed in the constructor, where no other value is tested{but}: {', '.join(fixed)}"] if fixed else []


def list_gaps(results: Sequence[LawResult]) -> list[str]:
    """Say what laws met in the target and no law judges.

    Example:
        >>> list_gaps([LawResult("law", "held", 1, 0.0, unjudged=DROPOUT)])[0].partition(" (")[0]
        'not judged: dropout in training'
    """
    found = dict.fromkeys(result.unjudged for result in results if result.unjudged)
    return [f"not judged: {what}{f' ({UNJUDGED[what]})' if what in UNJUDGED else ''}" for what in found]


def list_waivers(
    implementation: Implementation, laws: Sequence[Law], results: Sequence[LawResult]
) -> dict[str, list[str]]:
    """The laws that would judge the target but for one declaration, by that declaration.

    Example:
        >>> from attention_core.conformance.laws import laws_of
        >>> declared = Implementation(None, misfits="unspecified")
        >>> names = ("mask_must_broadcast_to_the_scores", "agrees_with_truth")
        >>> list_waivers(declared, laws_of("attention"), [LawResult(name, "not_applicable", 0, 0.0) for name in names])
        {'misfits=unspecified': ['mask_must_broadcast_to_the_scores']}
    """
    left = {result.law for result in results if result.status == "not_applicable"}
    silent = [law for law in laws if law.name in left and law.declares and not law.declares(implementation)]
    found = dict[str, list[str]]()
    for what, strict in undo_waivers(implementation):
        names = [law.name for law in silent if law.declares and law.declares(strict)]
        if names:
            found[what] = names
    return found


def undo_waivers(implementation: Implementation) -> Iterator[tuple[str, Implementation]]:
    """Each declaration that leaves something open, and the record as it would be without it."""
    contract = implementation.contract
    usually: dict[str, Any] = {
        "misfits": "refused", "gradients": True, "dead_rows": usual_dead_rows(contract),
        "masked_nan": usual("masked_nan", contract),
    }  # fmt: skip
    for name, value in usually.items():
        declared = getattr(implementation, name)
        if declared in (False, "unspecified") and declared != value:
            yield f"{name}={declared}", implementation.with_(**{name: value})
    for name in ("inputs", "results"):
        if name in implementation.parameters:
            rest = {key: value for key, value in implementation.parameters.items() if key != name}
            yield f"{name}={implementation.parameters[name]}", implementation.with_(parameters=rest)


def about_sizes(sizes: Collection[int], arguments: Mapping[str, Any]) -> list[str]:
    """Say near which sizes of the target's own cases were drawn.

    Args: sizes: near which a case was judged. arguments: name -> value bound by --arg, where sizes are read, too.

    Example:
        >>> about_sizes([32, 128], {})
        ['sizes 32 and 128 are written in the target: lengths, widths and counts around them were drawn, too']
    """
    if not sizes:
        return []
    *most, last = map(str, sorted(sizes))
    named = f"sizes {', '.join(most)} and {last} are" if most else f"size {last} is"
    where = "the target or its arguments" if {*sizes} & {*filter(is_size, arguments.values())} else "the target"
    them = "them" if most else "it"
    return [f"{named} written in {where}: lengths, widths and counts around {them} were drawn, too"]


def about_absent(laws: Sequence[Law], results: Sequence[LawResult]) -> list[str]:
    """Say what laws that may be without a case mean for the target then, where each law that means it is without one.

    Example:
        >>> from dataclasses import replace
        >>> from attention_core.conformance.laws import laws_of
        >>> law = replace(laws_of("attention")[0], absent="gradients are not tested")
        >>> about_absent([law], [LawResult(law.name, "not_applicable", 0, 0.0, message="it carries none")])
        ['gradients are not tested: it carries none']
    """
    absent, status = {law.name: law.absent for law in laws if law.absent}, {r.law: r.status for r in results}
    judged = {absent[name] for name in absent if status.get(name, "not_applicable") != "not_applicable"}
    reasons = {absent[r.law]: r.message for r in reversed(results) if r.law in absent}
    return [f"{what}: {why}" for what, why in reasons.items() if what not in judged]


def about_fewest(few: int) -> list[str]:
    """Say how many laws judged only the fewest cases that a verdict needs.

    Example:
        >>> about_fewest(0)
        []
    """
    if not few:
        return []
    return [
        f"{few} laws that only name the cause of a failure judged a quarter of their cases, as nothing is refuted "
        "(all with --effort standard)"
    ]

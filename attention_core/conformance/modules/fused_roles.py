"""Which rows of a fused projection are queries, keys or values, recognised by what moves when a row changes.

Where a module agrees with the truth in no layout, either it is wrong or its layout is not among those known. Its rows
tell: one token attends to itself alone, so that a row of values is the only one that moves its output; of two tokens, a
key's row moves the other token's output, a query's row never does. No scale, mask or order of heads changes this. A
key's row moves nothing else where the query it meets is 0, so what looks like a query's row may be a key's.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from attention_core.conformance.modules.filled_module import Filled, ModuleSubject
from attention_core.conformance.modules.projections import LAYOUTS, Layout, Shape, find_projections
from attention_core.conformance.subjects.evidence import NotApplicable, Refused, Violation
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.worker.exchange import NDArray, array

UNSEEN = (
    "the module agrees with the formula in none of the known layouts of the rows of {name}{nearest}: either its rows "
    "are laid out otherwise (give the three projections parameters of their own, or name them: --parameter "
    "q_proj=NAME, k_proj=NAME, v_proj=NAME), or its computation is wrong"
)
MEANT = {"v": "v", "k": "k", "q": "qk", "-": "qk"}
"""What a row may be that is seen to be something."""


def layout_by_roles(subject: ModuleSubject, probe: ParameterCase) -> tuple[Layout, str]:
    """The first layout that gives the rows of a fused parameter the roles they have, and why there is none, or ""."""
    shape = Shape(probe["H"], probe.sizes.get("H_kv", probe["H"]), probe["d"])
    try:
        filled = subject.fill(probe)
        name = next((n for n, v in filled.values.items() if sorted(v.shape) == [shape.size, shape.fused_size]), "")
        roles = seen_roles(subject, probe, filled, name) if name else ""
    except (Refused, Violation):
        return LAYOUTS[0], ""
    if not name:
        return LAYOUTS[0], ""
    for layout in LAYOUTS:
        try:
            meant = roles_of(filled, name, shape, layout)
        except NotApplicable:
            continue
        if all(role in MEANT[seen] for seen, role in zip(roles, meant, strict=True)):
            return layout, ""
    return LAYOUTS[0], UNSEEN.format(name=name, nearest=nearest(subject, probe, filled))


def nearest(subject: ModuleSubject, probe: ParameterCase, filled: Filled) -> str:
    """How far the output is off in the layout that explains it best, in words; "" where none can be compared."""
    x = subject.input(probe)
    off = list[tuple[float, float]]()
    try:
        got = subject.module(probe, filled, x).values
    except (Refused, Violation):
        return ""
    for layout in LAYOUTS:
        try:
            want, bound = subject.truth(probe, subject.parts(probe, filled, layout), x)
        except NotApplicable:
            continue
        error = np.abs(got - want)
        worst = np.unravel_index(int(error.argmax()), error.shape)
        if np.isfinite(error[worst]):
            off.append((float(error[worst]), float(bound[worst])))
    if not off:
        return ""
    error, allowed = min(off)
    return f" (in the nearest one an output is off by {error:.3g}, where {allowed:.2g} is allowed)"


def roles_of(filled: Filled, name: str, shape: Shape, layout: Layout) -> str:
    """The part of every row of a fused parameter in a layout, such as "qqkkvv"."""
    value = filled.values[name]
    numbers = np.broadcast_to(np.arange(shape.fused_size, dtype=float)[:, None], (shape.fused_size, shape.size))
    marked = numbers if value.shape == (shape.fused_size, shape.size) else numbers.T
    # Under another name, since the order that a name spells is what may be wrong.
    others = {own: other for own, other in filled.values.items() if own != name}
    parts = find_projections({**others, "fused": marked}, shape, layout).weights
    role = {int(row): part for part in "qkv" for row in np.unique(parts[part])}
    return "".join(role[row] for row in range(shape.fused_size))


def seen_roles(subject: ModuleSubject, probe: ParameterCase, filled: Filled, name: str) -> str:
    """What every row of a fused parameter is seen to be: "q", "k", "v", or "-" where nothing moves."""
    value = filled.values[name]
    rows = 0 if value.shape[0] > value.shape[1] else 1
    x: NDArray = probe.rng("roles").choice([-2.0, -1.0, 1.0, 2.0], (probe["B"], 2, value.shape[1 - rows]))
    x[:, 0, 0], x[:, 1, 0] = 1.0, 0.0  # what is changed below reaches the first token alone
    one, two = (subject.module(probe, filled, x[:, :n]).values for n in (1, 2))
    roles = ""
    for row in range(value.shape[rows]):
        changed = value.copy()
        changed[(row, 0) if rows == 0 else (0, row)] += 2.0
        dtype = filled.parameters[name].dtype
        other = replace(filled, parameters={**filled.parameters, name: array(changed, dtype)})
        alone, both = (subject.module(probe, other, x[:, :n]).values for n in (1, 2))
        if not np.array_equal(alone, one):
            roles += "v"
        elif not np.array_equal(both[:, 1], two[:, 1]):
            roles += "k"
        else:
            roles += "q" if not np.array_equal(both[:, 0], two[:, 0]) else "-"
    return roles

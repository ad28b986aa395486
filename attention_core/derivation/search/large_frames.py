r"""Orthogonal vectors at larger sizes: the standard basis, Hadamard's matrices, reflections.

A drawn frame costs the cube of its size, so that the ladder of sizes ends early under hypotheses such as
$A^\top A = I_n$. These frames cost nothing, and sums, magnitudes and maxima are extreme at them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from flint import fmpq

from attention_core.derivation.cases.admissible import NoCase, assigned_value, assignment_order, require
from attention_core.derivation.cases.counterexamples import refutation
from attention_core.derivation.cases.generate import with_length
from attention_core.derivation.graph.compare import compare
from attention_core.derivation.graph.nodes import Graph, TooLarge, Undefined, Unsettled
from attention_core.derivation.graph.numbers import Case, Imprecise, precision
from attention_core.derivation.lowering.plans import CasePlan
from attention_core.derivation.search.larger_sizes import HEAVY

if TYPE_CHECKING:
    from attention_core.derivation.cases.problem import Problem, Site
    from attention_core.derivation.records import Finding

SIZES = (5, 8, 13, 16)
NODES = 40_000  # of one tuple
SHARE = 0.1  # of a step's time, as the last resort
FILLS = (fmpq(1), fmpq(-1), fmpq(1, 2))  # what entries of other arrays are
Frame = Callable[[int, int, int], fmpq]  # an entry of a vector: size, which vector, which entry
Directed = tuple[tuple[int, ...], list[fmpq]]  # a vector, entry by entry, and where it points


def basis(size: int, vector: int, entry: int) -> fmpq:
    """The standard basis."""
    return fmpq(int(vector == entry))


def reflection(size: int, vector: int, entry: int) -> fmpq:
    r"""The reflection $I - \frac{2}{n} \mathbf{1} \mathbf{1}^\top$, whose entries all differ from 0."""
    return fmpq(int(vector == entry)) - fmpq(2, size)


def hadamard(size: int, vector: int, entry: int) -> fmpq:
    """Sylvester's matrix of signs, whose entries are all as large as each other, where the size is a power of 4.

    Raises:
        NoCase: the size is another one.
    """
    root = 1 << ((size.bit_length() - 1) // 2)
    if root * root != size:
        raise NoCase
    return fmpq(1 - 2 * ((vector & entry).bit_count() % 2), root)


FRAMES = (basis, hadamard, reflection)


def large_frames(problem: Problem) -> Finding | None:
    """Search at frames of larger sizes; the finding if one refutes."""
    end = min(problem.deadline, time.process_time() + SHARE * problem.effort.seconds)
    sides = (problem.claim.left, problem.claim.right)
    if not problem.tuples.sizes or problem.moves or any(t.op in HEAVY for side in sides for t in side.walk()):
        return None
    for way in islice(problem.tuples.ladder(), 1 + len(problem.tuples.sizes)):
        for env in way:
            largest = max(env[n] for n in problem.tuples.sizes)
            if largest > SIZES[-1] or time.process_time() > end:
                break
            if largest not in SIZES:
                continue
            try:
                site = problem.make_site(env, Graph(NODES))
                if site is None or not site.plan.gram.leaves():
                    break
                found = _at(problem, site, end)
            except (TooLarge, Unsettled):
                break
            if found is not None:
                return found
    return None


def _at(problem: Problem, site: Site, end: float) -> Finding | None:
    for frame in FRAMES:
        for fill in FILLS:
            if time.process_time() > end:
                return None
            try:
                case = fill_frame(site.plan, frame, fill)
                outcome = compare(site.low.graph, site.pairs, problem.claim.op, case, site.order, most=512)
            except (NoCase, Undefined, Imprecise, ZeroDivisionError):
                continue
            if outcome.holds is False:
                return refutation(problem, site, case, outcome)
            if outcome.holds:
                for name in problem.tuples.sizes:
                    problem.tally.reached[name] = max(problem.tally.reached.get(name, 0), site.env[name])
            if len(site.plan.gram.leaves()) == len(site.plan.entries):
                break  # nothing is left to fill
    return None


def fill_frame(made: CasePlan, frame: Frame, fill: fmpq) -> Case:
    """The case with every group of orthogonal vectors along a frame and every other entry alike; or `NoCase`."""
    values: Case = {}
    pinned = set(made.gram.leaves())
    for node, (symbol, _) in made.entries.items():
        if node not in pinned and node not in made.assigned:
            values[node] = fmpq(symbol.values[0]) if symbol.values else fill
    with precision(128):
        waiting = list(_directions(made, frame))
        while waiting:
            vector, direction = _ready(made, waiting, values)
            waiting.remove((vector, direction))
            length = made.gram.lengths.get(vector)
            entries = list(direction) if length is None else with_length(made, direction, length, values)
            values.update(zip(vector, entries, strict=True))
        for node in assignment_order(made):
            values[node] = assigned_value(made, node, values)
        require(made, values, everywhere=True)
    return values


def _ready(made: CasePlan, waiting: list[Directed], values: Case) -> Directed:
    r"""The first vector whose length is known by now, as $\|q\| = \|k\|$ makes one follow from another; or `NoCase`."""
    for one in waiting:
        if all(leaf in values for leaf in made.gram.length_leaves(made.low.graph, one[0])):
            return one
    raise NoCase


def _directions(made: CasePlan, frame: Frame) -> Iterator[Directed]:
    for group in made.gram.groups():
        size = len(group[0])
        if len(group) > size:
            raise NoCase
        for place, vector in enumerate(group):
            yield vector, [frame(size, place, k) for k in range(size)]

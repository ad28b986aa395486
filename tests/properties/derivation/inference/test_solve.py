"""Shapes as unknowns: what products, transposes and derivatives say of one another."""

from __future__ import annotations

from attention_core.derivation.inference.solve import Shape, Solver
from attention_core.derivation.terms.terms import ONE, Size


def test_a_product_passes_shapes_on_and_a_row_times_a_column_is_a_number() -> None:
    solver = Solver()
    n, one = solver.extents.of(Size.symbol("n")), solver.extents.of(ONE)
    column, turned, out = solver.array(n, one), Shape(), Shape()
    solver.waiting += [solver.product(turned, column, out), solver.transpose(column, turned)]
    solver.propagate()
    assert solver.is_number(out)
    assert solver.extents.size(solver.find(turned).cols) == Size.symbol("n")
    assert not solver.waiting


def test_different_sizes_are_a_conflict_and_change_nothing() -> None:
    solver = Solver()
    n, m = (solver.extents.of(Size.symbol(name)) for name in "nm")
    assert not solver.equal(solver.array(n, n), solver.array(m, n))
    assert solver.conflicts == 1
    assert not solver.extents.join(n, m)

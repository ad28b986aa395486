"""Relations of SymPy for tests, which import this inside a test: SymPy takes a second, too long for collecting."""

from __future__ import annotations

from typing import Any

import sympy
from sympy import Eq, Ge, IndexedBase, Le, MatrixSymbol, Sum, exp, log, sqrt

x, y = sympy.symbols("x y")
p, r = sympy.symbols("p r", positive=True)
n, d = sympy.symbols("n d", integer=True, positive=True)
w = sympy.Symbol("w", integer=True, positive=True)
i, j = sympy.symbols("i j", integer=True)
A, B, Q, K = (MatrixSymbol(name, *shape) for name, shape in zip("ABQK", ((n, n), (n, n), (n, d), (n, d)), strict=True))
v = MatrixSymbol("v", n, 1)
S, T = MatrixSymbol("S", 3, 3), MatrixSymbol("T", 3, 3)
a, beta = IndexedBase("a"), IndexedBase("beta")

TRUE: list[Any] = [
    ((x + y) ** 2, x**2 + 2 * x * y + y**2),
    ((Q * K.T).T, K * Q.T),
    ((A * B).T, B.T * A.T),
    (Sum(exp(a[i]), (i, 1, n)) ** 2, Sum(exp(a[i] + a[j]), (j, 1, n), (i, 1, n))),
    ((v.T * v)[0, 0], sympy.Trace(v * v.T)),
    (sympy.Derivative(x**3, x), 3 * x**2),
    (A * sympy.Identity(n), A),
    (sympy.OneMatrix(1, n) * v, sympy.Trace(sympy.OneMatrix(n, 1) * v.T)),
    (sympy.Matrix([[x, y], [0, 1]]) * sympy.Matrix([1, 2]), sympy.Matrix([x + 2 * y, 2])),
    (Sum(sympy.Piecewise((a[i], Eq(i, 1)), (0, True)), (i, 1, n)), a[1]),
    (x / (2 * p) - sympy.Rational(1, 2), (x - p) / (2 * p)),
    (sympy.Symbol("scores") + sympy.Symbol("W_Q"), sympy.Symbol("W_Q") + sympy.Symbol("scores")),
    Ge((p + r) / 2, sqrt(p * r)),
    Le(log(1 + exp(x)), 1 + abs(x)),
    sympy.Ne(x**2 + 1, 0),
    (A**2, A * A),
    (A * A * A, A**2 * A),
    ((A * B) ** 2, A * B * A * B),
    (A**-2, A**-1 * A**-1),
    (sympy.MatPow(A, -1), A.I),
    (sympy.MatPow(A.T, 2), (A * A).T),
    (sympy.Trace(A**2), sympy.Trace(A.T * A.T)),
    (S**3 - S, S * (S**2 - sympy.Identity(3))),
    (sympy.MatPow(S, 0), sympy.Identity(3)),
    (sympy.Integral(x**2, (x, 0, y)), y**3 / 3),
    (sympy.Integral(exp(-(x**2)), (x, -sympy.oo, sympy.oo)), sqrt(sympy.pi)),
    (sympy.Integral(x * y, (x, 0, y), (y, 0, 1)), sympy.Rational(1, 8)),
    (sympy.binomial(n, 2), n * (n - 1) / 2),
]
FALSE: list[Any] = [Eq(A * B, B * A), x > y, Eq(A[0, 0], A[1, 1]), Eq(Sum(a[i], (i, 1, n)), n)]
FALSE += [(A**2, A * B), Eq(A * A * A, A), (S**2, S * T), (sympy.Trace(A**2), sympy.Trace(A.T * A)), (A**-2, A)]
FALSE += [Eq(sympy.Integral(x**2, (x, 0, p)), p**3), Eq(sympy.Integral(x, (x, 0, 1)) + x, 1)]
UNWRITABLE: list[Any] = [
    (Eq(sympy.Integral(exp(-(x**2)), x), 1), "only definite integrals"),
    (Eq(sympy.I * x, 1), "ImaginaryUnit is not translated from SymPy, though a document may use it"),
    (Eq(sympy.conjugate(x), x), "conjugate is not translated"),
    (Eq(abs(sympy.Symbol("z", complex=True)) ** 2, 1), "z is complex"),
    ((sympy.Symbol("z", imaginary=True) ** 2, 1), "z is complex"),
    (Eq(sympy.gamma(x), 1), "gamma is not translated"),
    (Eq(x, x), "hand over the pair"),
    (Eq(sympy.Symbol("k", integer=True), 1), "need not be positive"),
    (Eq(a[i], 1), "how many members"),
    (Eq(sympy.Symbol("x!"), 1), "the name 'x!'"),
    (x + y, "a relation such as"),
    (Eq(A**w, A), r"A\*\*w has no form in a document: the power of a matrix has to be a whole number"),
    (Eq(sympy.MatPow(A, sympy.Rational(1, 2)), A), "the power of a matrix has to be a whole number"),
]

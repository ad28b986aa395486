"""Words for hypotheses, each in three sentences, beside a step that holds under them and a false one.

A row is (symbols, what the words are about, its verb, the two steps, the words). "normalized", "centered", "between 0
and 1" and the like have more than one meaning and are quoted; so are those without a construction of cases.
"""

from __future__ import annotations

from collections.abc import Iterator

N = r"Let $x, y \in \mathbb{R}$."
V = r"Let $d \in \mathbb{N}$ and $u \in \mathbb{R}^d$."
P = r"Let $n \in \mathbb{N}$ and $p \in \mathbb{R}^n$."
A = r"Let $n \in \mathbb{N}$, $A \in \mathbb{R}^{n \times n}$ and $x, y \in \mathbb{R}^n$."
Q = r"Let $n, m \in \mathbb{N}$, $Q \in \mathbb{R}^{n \times m}$ and $z \in \mathbb{R}^m$."
K = r"Let $n, d \in \mathbb{N}$, $n \ge 2$ and $k_1, \dots, k_n \in \mathbb{R}^d$."
G = r"Let $d \in \mathbb{N}$ and $q, k \in \mathbb{R}^d$."
UNIT = (r"u^\top u = 1", r"u^\top u = 2")
POS = (r"|x| = x", r"|x| = x + 1")
NEG = (r"|x| = -x", r"|x| = 1 - x")
NZ = (r"x^2 > 0", r"x^2 < 0")
CHANCE = (r"x^2 \le x", r"x^2 \ge x + 1")
BIN = (r"x^2 = x", r"x^2 = x + 1")
DIFF = (r"(x - y)^2 > 0", r"(x - y)^2 < 0")
SAME = (r"x^2 = x y", r"x^2 = x y + 1")
SUM = (r"1 - \sum_{i=1}^n p_i = 0", r"1 + \sum_{i=1}^n p_i = 0")
HOT = (r"\sum_{i=1}^n p_i^2 = 1", r"\sum_{i=1}^n p_i^2 = 2")
ZERO = (r"\sum_{i=1}^n p_i = 0", r"\sum_{i=1}^n p_i = 1")
NONNEG = (r"\sum_{i=1}^n |p_i| = \sum_{i=1}^n p_i", r"\sum_{i=1}^n |p_i| = 1 + \sum_{i=1}^n p_i")
ONES = (r"\sum_{i=1}^n p_i = n", r"\sum_{i=1}^n p_i = n + 1")
SYM = (r"x^\top A y = y^\top A x", r"x^\top A y = y^\top A x + 1")
SKEW = (r"x^\top A x = 0", r"x^\top A x = 1")
DIAG = (r"\sum_{i=1}^n A_{ii} x_i y_i = x^\top A y", r"\sum_{i=1}^n A_{ii} x_i y_i = x^\top A y + 1")
ORTH = (r"\|A x\|^2 = \|x\|^2", r"\|A x\|^2 = \|x\|^2 + 1")
INV = (r"A^{-1} A x = x", r"A^{-1} A x = 2 A^{-1} A x + x")
PD = (r"x^\top A x \ge 0", r"x^\top A x \le -1")
IDEM = (r"A A x = A x", r"x^\top A A x = x^\top A x + 1")
PROJ = (r"\|A x\|^2 = x^\top A x", r"\|A x\|^2 = x^\top A x + 1")
UP = (
    r"x^\top A x = \sum_{i=1}^n \sum_{j=i}^n A_{ij} x_i x_j",
    r"x^\top A x = 1 + \sum_{i=1}^n \sum_{j=i}^n A_{ij} x_i x_j",
)
LOW = (
    r"x^\top A x = \sum_{i=1}^n \sum_{j=1}^i A_{ij} x_i x_j",
    r"x^\top A x = 1 + \sum_{i=1}^n \sum_{j=1}^i A_{ij} x_i x_j",
)
ROW = (r"\sum_{j=1}^n A_{1 j} = 1", r"\sum_{j=1}^n A_{1 j} = 2")
COL = (r"\sum_{j=1}^n A_{j 1} = 1", r"\sum_{j=1}^n A_{j 1} = 2")
ID = (r"x^\top A y = x^\top y", r"x^\top A y = x^\top y + 1")
MULT = (r"A_{11} x^\top y = x^\top A y", r"A_{11} x^\top y = x^\top A y + 1")
TR = (r"\operatorname{tr}(A) = 0", r"\operatorname{tr}(A) = 1")
NORMAL = (r"\|A x\| = \|A^\top x\|", r"\|A x\| = 1 + \|A^\top x\|")
COLS = (r"\|Q z\|^2 = z^\top z", r"\|Q z\|^2 = -z^\top z - 1")
CROSS = (r"k_1^\top k_2 = 0", r"k_1^\top k_2 = 1")
NORMED = (r"k_1^\top (k_1 + k_2) = 1", r"k_1^\top (k_1 + k_2) = 2")
UNITS = (r"k_1^\top k_1 = 1", r"k_1^\top k_1 = 2")
EQUALS = (r"\|k_1\| = \|k_2\|", r"\|k_1\| = \|k_2\| + 1")
APART = (r"\|k_1 - k_2\| > 0", r"\|k_1 - k_2\| < 0")
VAR = (r"\operatorname{Var}[q^\top k] = d", r"\operatorname{Var}[q^\top k] = 2 d")
UNIF = (r"\mathbb{E}[x] = \frac{1}{2}", r"\mathbb{E}[x] = \frac{1}{3}")
GAUSS = (r"\mathbb{E}[x^4] = 3", r"\mathbb{E}[x^4] = 2")
ROWS: list[tuple[str, str, str, tuple[str, str], list[str]]] = [
 (N, "x", "is", POS, ["positive", "strictly positive", "a positive number", "a positive real number", "nonnegative", "non-negative", "greater than zero", "at least zero", "larger than zero", "not negative"]),
 (N, "x", "is", NEG, ["negative", "strictly negative", "nonpositive", "less than zero", "smaller than zero"]),
 (N, "x", "is", NZ, ["nonzero", "non-zero", "different from zero", "not zero", "not equal to zero"]),
 (N, "x", "is", CHANCE, ["a probability", "between 0 and 1", "between zero and one", "in the unit interval"]),
 (N, "x", "is", BIN, ["binary", "either 0 or 1", "0 or 1"]),
 (N, "x", "is", (r"x^2 \ge 4", r"x^2 \le 1"), ["at least two", "no less than two"]),
 (N, "x", "is", (r"\lceil x \rceil = x", r"\lceil x \rceil = x + 1"), ["an integer"]),
 (N, "x", "is", (r"x y = 0", r"x y = 1"), ["zero", "equal to zero"]),
 (N, "x", "is", (r"x y = y", r"x y = y + 1"), ["one", "equal to one"]),
 (N, "x$ and $y", "are", DIFF, ["distinct", "different", "not equal", "unequal"]),
 (N, "x$ and $y", "are", SAME, ["equal", "the same"]),
 (V, "u", "is", UNIT, ["a unit vector", "of unit norm", "normalized", "normalised", "of unit length", "a vector of norm 1", "a vector of length one", "on the unit sphere"]),
 (P, "p", "is", SUM, ["a probability vector", "a probability distribution", "a discrete distribution", "a vector of probabilities", "on the probability simplex", "in the simplex", "a stochastic vector", "a categorical distribution"]),
 (P, "p", "is", HOT, ["one-hot", "a one-hot vector", "a standard basis vector"]),
 (P, "p", "is", ZERO, ["centered", "centred", "of zero mean", "the zero vector"]),
 (P, "p", "is", ONES, ["the all-ones vector", "a vector of ones"]),
 (P, "p", "is", NONNEG, ["entrywise nonnegative", "a vector with nonnegative entries", "a vector with positive entries"]),
 (A, "A", "is", SYM, ["symmetric", "a symmetric matrix", "self-adjoint", "a covariance matrix", "symmetric positive definite", "symmetric and positive semidefinite"]),
 (A, "A", "is", SKEW, ["skew-symmetric", "antisymmetric", "anti-symmetric"]),
 (A, "A", "is", DIAG, ["diagonal", "a diagonal matrix"]),
 (A, "A", "is", ORTH, ["orthogonal", "an orthogonal matrix", "a rotation matrix", "a permutation matrix"]),
 (A, "A", "is", INV, ["invertible", "nonsingular", "of full rank"]),
 (A, "A", "is", PD, ["positive definite", "positive semidefinite", "positive semi-definite", "a positive definite matrix", "PSD"]),
 (A, "A", "is", IDEM, ["idempotent", "an idempotent matrix", "a projection matrix"]),
 (A, "A", "is", PROJ, ["an orthogonal projection", "an orthogonal projection matrix"]),
 (A, "A", "is", UP, ["upper triangular", "an upper triangular matrix"]),
 (A, "A", "is", LOW, ["lower triangular", "a lower-triangular matrix"]),
 (A, "A", "is", ROW, ["row-stochastic", "a row-stochastic matrix", "doubly stochastic"]),
 (A, "A", "is", COL, ["column-stochastic"]),
 (A, "A", "is", ID, ["the identity", "the identity matrix"]),
 (A, "A", "is", MULT, ["a multiple of the identity"]),
 (A, "A", "is", TR, ["traceless", "the zero matrix"]),
 (A, "A", "is", NORMAL, ["a normal matrix"]),
 (K, "k_1, \\dots, k_n", "are", CROSS, ["pairwise orthogonal", "mutually orthogonal", "orthogonal to each other"]),
 (K, "k_1, \\dots, k_n", "are", NORMED, ["orthonormal", "orthonormal vectors"]),
 (K, "k_1, \\dots, k_n", "are", UNITS, ["unit vectors", "normalized"]),
 (K, "k_1, \\dots, k_n", "are", EQUALS, ["of equal norm"]),
 (K, "k_1, \\dots, k_n", "are", APART, ["distinct", "pairwise distinct", "linearly independent"]),
 (G, "q$ and $k", "are", VAR, ["independent standard normal vectors", "independent standard Gaussian vectors", "independent and standard normal"]),
 (N, "x", "is", GAUSS, ["standard normal", "a standard normal variable"]),
 (N, "x", "is", UNIF, ["uniform on $[0, 1]$", "uniformly distributed on $[0, 1]$"]),
]  # fmt: skip

FRAMES = ("Let ${about}$ be {words}.", "Assume that ${about}$ {verb} {words}.", "If ${about}$ {verb} {words}, then",
          "Suppose ${about}$ {verb} {words}.")  # fmt: skip


def sentences() -> Iterator[tuple[str, str, str, tuple[str, str]]]:
    """The words, the symbols, a sentence and the two steps; three sentences for each of the words."""
    number = 0
    for symbols, about, verb, steps, several in ROWS:
        for words in several:
            frames = (FRAMES[0], FRAMES[1 if number % 2 == 0 else 3], FRAMES[2])
            for frame in frames:
                yield words, symbols, frame.format(about=about, verb=verb, words=words), steps
            number += 1

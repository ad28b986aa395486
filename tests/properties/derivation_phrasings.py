"""Hypotheses as authors word them, each before a step that needs it and before a false one beside it.

An entry is (symbols, the hypothesis as it is written, a step that holds under it, the same step with an error). The
words are ours, after a list of what public notes write: no public document was read for them.
"""

from __future__ import annotations

V = r"Let $d \in \mathbb{N}$ and $u \in \mathbb{R}^d$."
N = r"Let $x, y \in \mathbb{R}$."
P = r"Let $n \in \mathbb{N}$ and $p \in \mathbb{R}^n$."
A = r"Let $n \in \mathbb{N}$ and $A \in \mathbb{R}^{n \times n}$, $x \in \mathbb{R}^n$."
Q = r"Let $n, m \in \mathbb{N}$, $Q \in \mathbb{R}^{n \times m}$ and $z \in \mathbb{R}^m$."
K = r"Let $n, d \in \mathbb{N}$, $n \ge 2$ and $k_1, \dots, k_n \in \mathbb{R}^d$."
G = r"Let $d \in \mathbb{N}$ and $q, k \in \mathbb{R}^d$."
M = r"Let $\mu, \sigma, x \in \mathbb{R}$."
W = r"Let $n \in \mathbb{N}$, $W \in \mathbb{R}^{n \times n}$ and $c \in \mathbb{R}$."

UNIT = (r"u^\top u = 1", r"u^\top u = 2")
POSITIVE = (r"|x| = x", r"|x| = -x")
SUM = (r"1 - \sum_{i=1}^n p_i = 0", r"1 + \sum_{i=1}^n p_i = 0")
BELOW = (r"p_1 \le 1", r"p_1 \ge 1 + p_1^2")
SYMMETRIC = (r"x^\top A = (A x)^\top", r"x^\top A = -(A x)^\top - x^\top")
ORTHONORMAL = (r"\|Q z\|^2 = z^\top z", r"\|Q z\|^2 = -z^\top z - 1")
CROSS = (r"k_1^\top k_2 = 0", r"k_1^\top k_2 = 1")
NORMED = (r"k_1^\top (k_1 + k_2) = 1", r"k_1^\top (k_1 + k_2) = 2")
VARIANCE = (r"\operatorname{Var}[q^\top k] = d", r"\operatorname{Var}[q^\top k] = 2 d")
CENTRED = (r"x + \mu = x", r"x + \mu = x + 1")
SCALED = (r"(x - \mu) / \sigma = x", r"(x - \mu) / \sigma = x + 1")
ROWS = (r"\sum_{j=1}^n W_{1 j} = 1", r"\sum_{j=1}^n W_{1 j} = 2")
DIFFERENT = (r"(x - y)^2 > 0", r"(x - y)^2 < 0")

PHRASINGS: list[tuple[str, str, tuple[str, str]]] = [
    # unit vectors
    (r"Let $d \in \mathbb{N}$ and let $u \in \mathbb{R}^d$ be a unit vector.", "", UNIT),
    (r"Let $d \in \mathbb{N}$, and let $u \in \mathbb{R}^d$ have unit norm.", "", UNIT),
    (r"Let $u \in \mathbb{R}^d$ be a vector of length one, with $d \in \mathbb{N}$.", "", UNIT),
    (V, r"Assume that $u$ is a unit vector.", UNIT),
    (V, r"We assume $\|u\| = 1$ throughout.", UNIT),
    (V, r"We assume that $u$ is normalized.", UNIT),
    (V, r"For a unit vector $u$ we get", UNIT),
    (V, r"If $u$ has unit length, then", UNIT),
    (V, r"The direction $u$ is normalised, so", UNIT),
    (V, r"Recall that $\|u\| = 1$.", UNIT),
    # signs
    (r"Let $x$ be a positive real number.", "", POSITIVE),
    (r"Let $x, y \in \mathbb{R}$ be positive numbers.", "", POSITIVE),
    (N, r"For $x > 0$:", POSITIVE),
    (N, r"When $x \ge 0$, we have", POSITIVE),
    (N, r"Assuming that $x$ is nonnegative, this simplifies:", POSITIVE),
    (N, r"Suppose the number $x$ is strictly positive.", POSITIVE),
    (N, r"Now let $x > 0$.", POSITIVE),
    (N, r"Provided that $x \ge 0$,", POSITIVE),
    (N, r"Since $x \ge 0$, we can drop the bars:", POSITIVE),
    (N, r"In this case $x$ is positive.", POSITIVE),
    (N, r"Here $x$ is always positive, because it is a length.", POSITIVE),
    (N, r"Everything below is for positive $x$.", POSITIVE),
    (N, r"With $x > 0$ and $y > 0$ one finds", POSITIVE),
    # probabilities
    (r"Let $n \in \mathbb{N}$ and let $p \in \mathbb{R}^n$ be a probability vector.", "", SUM),
    (r"Let $n \in \mathbb{N}$ and let $p \in \mathbb{R}^n$ be a probability distribution.", "", BELOW),
    (P, r"Assume that $p$ is a probability vector.", SUM),
    (P, r"Since the entries of $p$ sum to one,", SUM),
    (P, r"The weights $p_i$ are nonnegative and sum to 1.", BELOW),
    (P, r"Suppose $p$ lies on the probability simplex.", SUM),
    (P, r"The vector $p$ is one-hot.", SUM),
    (P, r"Given $\sum_{i=1}^n p_i = 1$:", SUM),
    (P, r"where the $p_i$ are probabilities, that is $p_i \ge 0$ and $\sum_i p_i = 1$.", BELOW),
    # matrices
    (r"Let $n \in \mathbb{N}$, let $A \in \mathbb{R}^{n \times n}$ be symmetric and $x \in \mathbb{R}^n$.", "", SYMMETRIC),
    (r"Let $n \in \mathbb{N}$, $x \in \mathbb{R}^n$ and let $A \in \mathbb{R}^{n \times n}$ be a symmetric matrix.", "", SYMMETRIC),
    (A, r"Assume $A = A^\top$.", SYMMETRIC),
    (A, r"If the matrix $A$ is symmetric, then", SYMMETRIC),
    (A, r"Let us assume that $A$ is symmetric.", SYMMETRIC),
    (A, r"By symmetry of $A$,", SYMMETRIC),
    (A, r"$A$ is a covariance matrix, hence symmetric.", SYMMETRIC),
    (A, r"Under the assumption that $A$ is symmetric,", SYMMETRIC),
    (r"Let $n, m \in \mathbb{N}$, $z \in \mathbb{R}^m$ and let $Q \in \mathbb{R}^{n \times m}$ have orthonormal columns.", "", ORTHONORMAL),
    (Q, r"Assume that $Q$ has orthonormal columns.", ORTHONORMAL),
    (Q, r"We choose $Q$ such that $Q^\top Q = I_m$.", ORTHONORMAL),
    (Q, r"For orthonormal $Q$ this becomes", ORTHONORMAL),
    (Q, r"Because the columns of $Q$ are orthonormal,", ORTHONORMAL),
    (W, r"Let $W$ be row-stochastic.", ROWS),
    (W, r"Every row of $W$ sums to one.", ROWS),
    (W, r"$W$ is a row-stochastic matrix, as softmax makes it.", ROWS),
    # families
    (r"Let $n, d \in \mathbb{N}$, $n \ge 2$ and let $k_1, \dots, k_n \in \mathbb{R}^d$ be orthonormal.", "", NORMED),
    (r"Let $n, d \in \mathbb{N}$, $n \ge 2$ and let $k_1, \dots, k_n \in \mathbb{R}^d$ be pairwise orthogonal vectors.", "", CROSS),
    (K, r"Assume the keys $k_i$ are orthonormal.", NORMED),
    (K, r"The keys are orthogonal to each other.", CROSS),
    (K, r"Suppose the key vectors are mutually perpendicular.", CROSS),
    (K, r"Let the $k_i$ form an orthonormal set.", NORMED),
    (K, r"For orthogonal keys,", CROSS),
    (K, r"In the case of orthonormal keys we obtain", NORMED),
    # randomness
    (r"Let $d \in \mathbb{N}$ and let $q, k \in \mathbb{R}^d$ be independent standard normal vectors.", "", VARIANCE),
    (r"Let $d \in \mathbb{N}$ and let $q, k \sim \mathcal{N}(0, I_d)$ be i.i.d.", "", VARIANCE),
    (r"Let $d \in \mathbb{N}$, $q, k \in \mathbb{R}^d$, where $q$ and $k$ are independent standard Gaussian vectors.", "", VARIANCE),
    (G, r"Assume that the components of $q$ and $k$ are independent with mean 0 and variance 1.", VARIANCE),
    (G, r"The entries of $q$ and $k$ are i.i.d. with zero mean and unit variance.", VARIANCE),
    (G, r"Suppose $q$ and $k$ are drawn from a standard normal distribution.", VARIANCE),
    (G, r"At initialization queries and keys are random with zero mean and unit variance.", VARIANCE),
    (r"Let $h \in \mathbb{N}$, $q, k \in \mathbb{R}^{1 \times h}$ with $q, k \sim \mathcal{N}(0, I_h)$ independent.", "",
     (r"\operatorname{Var}[q k^\top] = h", r"\operatorname{Var}[q k^\top] = 2 h")),
    # special values
    (M, r"For $\mu = 0$:", CENTRED),
    (M, r"For $\mu = 0$ and $\sigma = 1$:", SCALED),
    (M, r"In the special case $\mu = 0$ we have", CENTRED),
    (M, r"Setting $\mu = 0$ and $\sigma = 1$ gives", SCALED),
    (M, r"At $\mu = 0$,", CENTRED),
    (M, r"We take $\mu = 0$ for simplicity.", CENTRED),
    (M, r"Without loss of generality, $\mu = 0$.", CENTRED),
    (M, r"Consider the centered case, $\mu = 0$.", CENTRED),
    (M, r"Throughout this section $\mu$ is zero.", CENTRED),
    (M, r"The mean $\mu$ vanishes.", CENTRED),
    (M, r"Let $\mu = 0$ and $\sigma = 1$. Then", SCALED),
    # distinct, nonzero
    (r"Let $x, y \in \mathbb{R}$ be distinct.", "", DIFFERENT),
    (N, r"Suppose that $x \ne y$.", DIFFERENT),
    (N, r"For distinct $x$ and $y$,", DIFFERENT),
    (N, r"unless $x = y$, we see that", DIFFERENT),
    (N, r"Assume that the two numbers $x$ and $y$ are different.", DIFFERENT),
    (r"Let $x, y \in \mathbb{R}$ with $x$ nonzero.", "", (r"x^2 > 0", r"x^2 < 0")),
    (r"Let $d \in \mathbb{N}$ and let $u \in \mathbb{R}^d$ be a nonzero vector.", "", (r"u^\top u > 0", r"u^\top u < 0")),
    (N, r"If $x$ is an integer, then", (r"\sin(\pi x) = 0", r"\sin(\pi x) = 1")),
    (N, r"As long as $x \ne 0$,", (r"x^2 > 0", r"x^2 < 0")),
]  # fmt: skip


def document(symbols: str, words: str, formula: str) -> str:
    """A document with the hypothesis before one step."""
    return "\n\n".join(part for part in (symbols, words, f"$$ {formula} $$") if part) + "\n"

"""A grammar that makes documents.

Documents made at random from the forms of the language, most of them nonsense: what is read, decided or refused.
Every symbol is declared, so that the shapes and the deciders are reached and not only the reader.
"""

from __future__ import annotations

import random
import re

DECLARATIONS = (
    r"Let $n, d \in \mathbb{N}$, $i, j \in \{1, \dots, n\}$, $a, b \in \{1, \dots, n\}$ with $a \ne b$.",
    r"Let $x, y \in \mathbb{R}^{d}$, $A \in \mathbb{R}^{d \times n}$, $B \in \mathbb{R}^{d \times d}$, $q, s, t \in \mathbb{R}$ and $r, S > 0$.",
    r"Let $v_1, \dots, v_n \in \mathbb{R}^{d}$ and $k \in \{1, \dots, 5\}$.",
    r"Let $X, Y \sim \mathcal{N}(0, 1)$ be independent. Let $\sigma > 0$, $\mu \in \mathbb{R}$, $p \in [0, 1]$.",
    r"Let $z \sim \mathcal{N}(0, \sigma^2 I_d)$. Let $m \sim \operatorname{Bernoulli}(p)$, $u \sim \operatorname{Uniform}[0, 1]$.",
    r"Let $\ell \sim \operatorname{Geometric}(p)$ and $c \sim \operatorname{Categorical}(0.5, 0.5)$.",
    r"Put $w := \operatorname{softmax}(A^\top x)$, $f_i := e^{x_i}$, $g(\theta) := \sum_{i=1}^n \theta$ and $\tau^2 := s^2$.",
)
ASSUMPTIONS = (
    r"Assume $\|x\| = 1$.",
    r"Assume $A^\top A = I_n$.",
    r"Assume $v_i^\top v_j = 0$ for $i \ne j$.",
    r"Assume $s = 2 t$.",
)
ATOMS = re.split(
    " ",
    r"n d x y A B s t r v_a v_b v_i a b X Y z \sigma \mu p m w u \ell f_i f_a c k S 0 1 2 -1 0.5 \infty e \pi I I_d \mathbf{1}_n x_1 "
    r"x_a A_{ab} A_{1,2} A_{:,1} x_{1:2} w_a q v_1 v_n z_1 \tau g(s) g(x) g \mathbf{1} x' \bar{x}",
)
ONE = (
    "({0})", "({0})^\\top", r"\sqrt{{{0}}}", r"\exp({0})", r"\log({0})", r"\operatorname{{softmax}}({0})", r"\|{0}\|", "|{0}|",
    r"\left|{0}\right|", r"\sum_{{i=1}}^{{n}} {0}", r"\sum_{{i \ne a}} {0}", r"\prod_{{j=1}}^{{d}} {0}", r"\max_{{i}} {0}",
    r"\mathbb{{E}}[{0}]", r"\operatorname{{Var}}[{0}]", r"\nabla_{{x}} ({0})", r"\frac{{\partial}}{{\partial s}} ({0})",
    r"\lim_{{s \to \infty}} {0}", r"\lim_{{x \to 0^+}} {0}", r"\operatorname{{tr}}({0})", r"\det({0})", r"\operatorname{{diag}}({0})",
    r"\operatorname{{argmax}}({0})", r"\operatorname{{max}}({0})", "{0}^{{-1}}", r"\lfloor {0} \rfloor", r"\tanh({0})", r"\cos({0})",
    r"x^\top {0}", r"\sqrt[3]{{{0}}}", r"\|{0}\|_1", r"\|{0}\|_F", r"\frac{{d}}{{d s}} {0}", "g({0})", r"\operatorname{{erf}}({0})",
    r"\mathbb{{E}}_{{z}}[{0}]", r"\operatorname{{softmax}}({0})_a", "({0})_i", r"\operatorname{{rank}}({0})", "({0})!",
)  # fmt: skip
TWO = (
    "{0} + {1}", "{0} - {1}", "{0} {1}", r"{0} \cdot {1}", r"{0} \odot {1}", "{0} / {1}", r"\frac{{{0}}}{{{1}}}", "{{{0}}}^{{{1}}}",
    r"\min({0}, {1})", r"\operatorname{{Cov}}[{0}, {1}]", r"\Pr[{0} \le {1}]", r"\Pr[{0}, {1}]", r"\langle {0}, {1} \rangle", "[{0}, {1}]",
    r"\begin{{bmatrix}} {0} & {1} \\ {1} & {0} \end{{bmatrix}}", r"\begin{{bmatrix}} {0} & \dots & {1} \end{{bmatrix}}",
    r"{0} + \dots + {1}", r"\operatorname{{Attention}}({0}, {1}, A)", r"\frac{{\partial {0}}}{{\partial {1}}}", r"\log_{{{0}}} {1}",
)  # fmt: skip
RELATIONS = ("=", "=", "=", r"\le", "<", r"\ge", r"\ne", r"\approx", r"\gg", r"\to", r"\in", r"\sim", ":=", r"\perp",
             r"\xrightarrow{S \to \infty}", r"\stackrel{(1)}{=}")  # fmt: skip
TAILS = (r" \text{ for } i \ne j", r" \text{ for all } s > 0", r" \quad \text{as } S \to \infty", r" \text{ by X} = 1", r", i \ne a", r"\tag{q}",
         r" \text{ where } q = 1", r" \text{ and } s = t", r" \forall i", r" \text{ since } s = t", r" && \text{words}", r" \\ &= 1")  # fmt: skip
OPTIONS = ("", "", "", "% within: 0.1", r"% as: S \to \infty", "% margin: 2", "% expect: refuted", r"% assume: s \ge 1", "% within: x",
           r"% as: x \to 0", "% check: mc alpha=1e-9 beta=1e-6 detect=50%", "% margin: x", "% assume: q")  # fmt: skip


def expression(rng: random.Random, depth: int) -> str:
    """An expression."""
    if depth <= 0:
        return rng.choice(ATOMS)
    if rng.random() < 0.5:
        return rng.choice(ONE).format(expression(rng, depth - 1))
    return rng.choice(TWO).format(expression(rng, depth - 1), expression(rng, depth - 1))


def document(rng: random.Random) -> str:
    """A document with one display."""

    def side() -> str:
        return expression(rng, rng.choice((0, 1, 1, 2, 2, 3)))

    statement = f"{side()} {rng.choice(RELATIONS)} {side()}"
    if rng.random() < 0.3:
        statement += f" {rng.choice(RELATIONS)} {side()}"
    if rng.random() < 0.2:
        arrow = rng.choice((r"\implies", r"\iff"))
        statement += f" {arrow} {side()} {rng.choice(RELATIONS)} {side()}"
    if rng.random() < 0.25:
        statement += rng.choice(TAILS)
    said = [*DECLARATIONS, *(a for a in ASSUMPTIONS if rng.random() < 0.2)]
    return "\n\n".join([*said, rng.choice(OPTIONS), f"$$ {statement} $$\n"])

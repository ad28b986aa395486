"""True steps under hypotheses in words that no list of triggers holds, and ordinary prose that restricts nothing."""

from __future__ import annotations

R = r"Let $x, y \in \mathbb{R}$."
N = r"Let $n \in \mathbb{N}$ and $s \in \mathbb{R}^n$."
V = r"Let $d \in \mathbb{N}$ and $u, v \in \mathbb{R}^d$."
A = r"Let $n \in \mathbb{N}$, $A, B \in \mathbb{R}^{n \times n}$ and $z \in \mathbb{R}^n$."
EVEN = r"\operatorname{softmax}(s)_1 = \frac{1}{n}"
TOTAL = r"\sum_{i=1}^n s_i = 1"
PARALLEL = r"u^\top v = \|u\| \|v\|"

# (the whole paragraph before the display, the display, the words behind it)
AROUND: list[tuple[str, str, str]] = [
    (r"Let $x \in \mathbb{R}$. On the event that $x$ exceeds one,", "x^2 > x", ""),
    (r"Let $x \in \mathbb{R}$. Only large $x$ matter:", "x^2 > 4", ""),
    (r"Let $x \in \mathbb{R}$. Everything below is for $x$ above two.", "x^2 > 4", ""),
    (r"Let $x \in \mathbb{R}$. Suppose throughout that $x$ is at least two.", r"x^2 \ge 4", ""),
    (r"Let $x \in \mathbb{R}$. Keep $x$ larger than two.", "x^2 > 4", ""),
    (r"Let $x \in \mathbb{R}$. Our $x$ never exceeds one.", r"x \le 1", ""),
    (r"Let $x \in \mathbb{R}$. In what follows $x \ge 0$.", "|x| = x", ""),
    (r"Let $x \in \mathbb{R}$. Since $x$ is a probability,", r"x \le 1", ""),
    (N + " When the scores tie,", EVEN, ""),
    (N + " If all entries of $s$ coincide, then", EVEN, ""),
    (r"Let $n \in \mathbb{N}$, $x \in \mathbb{R}^n$. After normalisation,", r"\|x\| = 1", ""),
    (r"Let $n \in \mathbb{N}$, $Q, K \in \mathbb{R}^{n \times n}$. Tying the weights $Q$ and $K$,",
     r"Q K^\top = K Q^\top", ""),
    (r"Let $a, b, c \in \mathbb{R}$ be the sides of a triangle.", r"a \le b + c", ""),
    (r"Let $n \in \mathbb{N}$, $A \in \mathbb{R}^{n \times n}$ with spectral norm at most one, $x \in \mathbb{R}^n$.",
     r"\|A x\| \le \|x\|", ""),
    (r"Let $n \in \mathbb{N}$, $A \in \mathbb{R}^{n \times n}$ with operator norm below one, $x \in \mathbb{R}^n$.",
     r"\|A x\| \le \|x\|", ""),
    (r"Let $n \in \mathbb{N}$, $A \in \mathbb{R}^{n \times n}$ a contraction, $x \in \mathbb{R}^n$.",
     r"\|A x\| \le \|x\|", ""),
    (r"Let $x, y \in \mathbb{R}$ be of opposite sign.", r"x y \le 0", ""),
    (r"Let $n \in \mathbb{N}$, $x, y \in \mathbb{R}^n$ at a right angle.", r"x^\top y = 0", ""),
    (r"Let $x, y \in \mathbb{R}$ agree in sign.", r"x y \ge 0", ""),
    (r"Let $x, y \in \mathbb{R}$ with the larger of the two being $x$.", r"x \ge y", ""),
    (r"Let $a, b \in \mathbb{R}$ be roots of $t^2 - 1$.", "a^2 = b^2", ""),
    (r"Let $p, q \in [0, 1]$ be complementary probabilities.", "p + q = 1", ""),
    (R, r"x^2 = 4, \quad x = 2", ""),
    (R, r"x^2 = 4 \quad (x = 2)", ""),
    (R, r"|x| = x \quad \text{(positive branch)}", ""),
    (R, r"|x| = x \qquad x \ge 0", ""),
    (r"Let $n \in \mathbb{N}$, $x \in \mathbb{R}^n$.", r"\|x\| = 1", "by normalisation of $x$."),
    (R, "|x| = x", "as $x$ is a length."),
    (R, "|x| = x", "which holds to the right of the origin."),
    (R, r"|x| = x \quad \text{(on the right)}", ""),
    (R, r"x = y \quad \text{by the choice of } y", ""),
    (R, r"x = y \qquad \text{[tied]}", ""),
    (R, r"\begin{aligned} |x| &= x && \text{first quadrant} \end{aligned}", ""),
    (N, TOTAL, "This is what normalising does."),
]  # fmt: skip

# (declared, a sentence that leads into the display, the display)
LEADING: list[tuple[str, str, str]] = [
    (R, "Far to the right of the origin,", "x > 0"),
    (R, "On the right half line,", "|x| = x"),
    (R, "Whenever $x$ dominates $y$,", r"x \ge y"),
    (R, "In the upper branch,", r"\sqrt{x^2} = x"),
    (R, "If $y$ is the reciprocal of $x$, then", "x y = 1"),
    (R, "Here $x$ and $y$ are antipodal.", "x + y = 0"),
    (R, "Up to normalization we have", "x + y = 1"),
    (R, "Let $x$ be a root of unity.", "x^2 = 1"),
    (R, "Once the two numbers have met,", "x = y"),
    (R, "As $y$ mirrors $x$,", "y = -x"),
    (R, "Because $x$ is a distance,", "|x| = x"),
    (R, "Since $x$ is a variance,", r"\sqrt{x^2} = x"),
    (R, "Since $x$ counts something,", r"x \ge 0"),
    (R, "The pair $(x, y)$ lives on the unit circle.", "x^2 + y^2 = 1"),
    (R, "Nothing below concerns negative numbers.", "|x| = x"),
    (R, "We only look at what happens past one.", "x > 0"),
    (R, "For arguments in the unit interval,", r"x^2 \le x"),
    (R, "For arguments beyond ten,", r"x \ge 10"),
    (R, "When both arguments agree,", "x - y = 0"),
    (R, "Take $x$ twice as big as $y$.", "x = 2 y"),
    (R, "At the minimum of $t^2 - 2 t$, attained at $x$,", "x = 1"),
    (R, "In equilibrium,", "x = y"),
    (R, "At the fixed point,", "x^2 = x"),
    (R, "Our convention is that $x$ comes first in order of size.", r"x \le y"),
    (R, "Without noise,", "x = y"),
    (R, "With no offset,", "x + y = x"),
    (R, "When $y$ plays no role,", "x + y = x"),
    (R, "Dropping the second summand,", "x + y = x"),
    (R, "After convergence,", "x = y"),
    (R, "On $[0, 1]$ we have", r"x^2 \le x"),
    (N, "For a single token,", r"\operatorname{softmax}(s)_1 = 1"),
    (N, "With one key,", r"\operatorname{softmax}(s)_1 = 1"),
    (N, "For two keys,", r"\operatorname{softmax}(s)_1 + \operatorname{softmax}(s)_n = 1"),
    (N, "When attention is uniform,", EVEN),
    (N, "Without any preference among the keys,", EVEN),
    (N, "When the first score wins,", r"s_1 = \max_i s_i"),
    (N, "With the maximum in front,", r"s_1 = \max_i s_i"),
    (N, "After subtracting the mean,", r"\sum_{i=1}^n s_i = 0"),
    (N, "For balanced scores,", r"\sum_{i=1}^n s_i = 0"),
    (N, "Assume flat scores.", EVEN),
    (N, "Suppose the logits do not vary.", EVEN),
    (N, "Throughout, no score stands out.", EVEN),
    (N, "The scores are attention weights.", TOTAL),
    (N, "Let $s$ be a histogram.", TOTAL),
    (N, "Read $s$ as frequencies.", TOTAL),
    (N, "In the degenerate case,", "n = 1"),
    (V, "At a right angle,", r"u^\top v = 0"),
    (V, "When $u$ and $v$ point the same way,", PARALLEL),
    (V, "For aligned directions,", PARALLEL),
    (V, "By Pythagoras' setting of two legs,", r"\|u + v\|^2 = \|u\|^2 + \|v\|^2"),
    (V, "Let $v$ be a copy of $u$.", "u = v"),
    (V, "Let $u$ be a direction.", r"\|u\| = 1"),
    (V, "On the sphere,", r"\|u\| = 1"),
    (V, "Both have the same length.", r"\|u\| = \|v\|"),
    (V, "With $v$ the shadow of $u$,", r"\|v\| \le \|u\|"),
    (V, "After layer normalisation,", r"\sum_{i=1}^d u_i = 0"),
    (A, "As $A$ preserves lengths,", r"\|A z\| = \|z\|"),
    (A, "Whenever $A$ undoes $B$,", "A B = I_n"),
    (A, "Since $A$ shrinks everything,", r"\|A z\| \le \|z\|"),
    (A, "Let $A$ be the inverse of $B$.", "A B = I_n"),
    (A, "where $A$ stands for the transpose of $B$.", r"A = B^\top"),
    (A, "$A$ equals $B$ in this section.", "A = B"),
    (A, "Here $A$ is $B$ with its rows and columns exchanged.", r"A = B^\top"),
    (A, "With weight tying,", "A = B"),
    (A, "For Hadamard-like $A$,", r"A A^\top = n I_n"),
    (A, r"Let $A$ be of the form $t t^\top$.", r"A^\top = A"),
    (A, "Let $A$ be a rotation.", r"A^\top A = I_n"),
    (A, "Let $z$ be in the kernel of $A$.", "A z = 0"),
    (A, "Say $A$ kills $z$.", "A z = 0"),
]

# Sentences that leave every symbol as free as it was.
ORDINARY = r"""
We have
Then
It follows that
Expanding the square, we get
Multiplying out gives
Computing the inner product,
Using linearity, we obtain
By the chain rule,
By the triangle inequality,
By Cauchy-Schwarz,
By Jensen's inequality, we find
Let us compute the gradient with respect to $x$.
The gradient of the loss with respect to $x$ is
Collecting terms yields
In matrix form this reads
We now prove the main result.
Next, consider the second term.
First we rewrite the left-hand side:
Rearranging the terms on the right,
Taking the derivative on both sides leads to
A short calculation shows that
A direct computation gives the following identity:
Adding and subtracting $x^\top y$, we see
To see this, note that
Recall the definition of the softmax.
The following lemma is useful.
The claim is a consequence of the definition.
Substituting this into the previous equation, we arrive at
Therefore, the two sides are related by
This can be written more compactly as
Attention computes a weighted sum of the values.
In a transformer, every token attends to the other tokens.
The key idea is to rewrite the product as a sum:
We use the notation from the previous section.
This is the formula used in the paper of Vaswani et al. (2017):
Here we derive the backward pass.
Plugging (3) into (2), we get
Let us look at the general case.
The second line uses the product rule.
Summing over all entries,
As a result,
Finally, putting everything together:
The output of the layer is then
It is easy to check that
For all $x$ and $y$ we have
For every $n$,
The following holds for any $x$:
Combining the two displays,
Observe that the left side does not depend on $y$.
As shown in Figure 2, the attention scores are computed from queries and keys.
See the appendix for details.
Dividing by two, we obtain
Here $x$ is the input and $y$ is the output.
where $x$ denotes the query vector and $y$ the key vector.
We write $x$ for the query and $y$ for the key.
The vectors $x$ and $y$ are arbitrary.
Let $x$ be the query and $y$ the key.
This identity is well known.
Both sides are polynomials in the entries of $x$.
Exchanging the order of summation,
The trick is to multiply and divide by the same factor.
""".strip().splitlines()

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
    (A, "Let $A$ be an isometry.", r"A^\top A = I_n"),
    (A, "Let $z$ be in the kernel of $A$.", "A z = 0"),
    (A, "Say $A$ kills $z$.", "A z = 0"),
]

# Written after the list of inert words, to get round it.
AGAINST: list[tuple[str, str, str]] = [
    (r"Let $t \in \mathbb{R}$. Past the threshold two,", r"t^2 > 4", r""),
    (r"Let $t \in \mathbb{R}$. While $t$ sits between zero and one,", r"t^2 \le t", r""),
    (r"Let $a, b \in \mathbb{R}$. Given that neither of them is negative,", r"a + b \ge 0", r""),
    (r"Let $a, b \in \mathbb{R}$. Because $a$ beats $b$,", r"a \ge b", r""),
    (r"Let $a, b \in \mathbb{R}$ cancel each other.", r"a + b = 0", r""),
    (r"Let $a, b \in \mathbb{R}$ be twins.", r"a = b", r""),
    (r"Let $a, b, c \in \mathbb{R}$ be in arithmetic progression.", r"a + c = 2 b", r""),
    (r"Let $a, b \in \mathbb{R}$ with product one.", r"a b = 1", r""),
    (r"Let $a \in \mathbb{R}$ be a perfect square.", r"a \ge 0", r""),
    (r"Let $a \in \mathbb{R}$ solve $a^2 = a$.", r"a^3 = a", r""),
    (r"Let $n \in \mathbb{N}$ be a power of two.", r"n \ge 1", r""),
    (r"Let $n \in \mathbb{N}$ and $p \in \mathbb{R}^n$ be the output of a softmax.", r"\sum_{i=1}^n p_i = 1", r""),
    (r"Let $n \in \mathbb{N}$ and $p \in \mathbb{R}^n$ hold the class probabilities.", r"\sum_{i=1}^n p_i = 1", r""),
    (r"Let $n \in \mathbb{N}$ and $p \in \mathbb{R}^n$ be a convex combination.", r"\sum_{i=1}^n p_i = 1", r""),
    (r"Let $n \in \mathbb{N}$ and $x \in \mathbb{R}^n$. Having removed its mean,", r"\sum_{i=1}^n x_i = 0", r""),
    (r"Let $n \in \mathbb{N}$ and $x \in \mathbb{R}^n$. Rescale $x$ to length one.", r"x^\top x = 1", r""),
    (r"Let $n \in \mathbb{N}$ and $x \in \mathbb{R}^n$. Only the first coordinate is active.", r"\|x\| = |x_1|", r""),
    (r"Let $n \in \mathbb{N}$ and $x \in \mathbb{R}^n$ with all its mass on the first entry.", r"\|x\| = |x_1|", r""),
    (r"Let $n \in \mathbb{N}$ and $x, y \in \mathbb{R}^n$ have nothing in common.", r"x^\top y = 0", r""),
    (r"Let $n \in \mathbb{N}$ and $x, y \in \mathbb{R}^n$ be decorrelated.", r"x^\top y = 0", r""),
    (r"Let $n \in \mathbb{N}$ and $x, y \in \mathbb{R}^n$ span a rectangle.", r"x^\top y = 0", r""),
    (r"Let $n \in \mathbb{N}$ and $A \in \mathbb{R}^{n \times n}$ be an isometry.", r"A^\top A = I_n", r""),
    (r"Let $n \in \mathbb{N}$ and $A \in \mathbb{R}^{n \times n}$ be its own inverse.", r"A A = I_n", r""),
    (r"Let $n \in \mathbb{N}$ and $A \in \mathbb{R}^{n \times n}$ be self-adjoint.", r"A = A^\top", r""),
    (r"Let $n \in \mathbb{N}$ and $A \in \mathbb{R}^{n \times n}$ be a Gram matrix.", r"A = A^\top", r""),
    (r"Let $n \in \mathbb{N}$ and $A \in \mathbb{R}^{n \times n}$ be a Householder reflector.", r"A A = I_n", r""),
    (r"Let $n \in \mathbb{N}$ and $A, B \in \mathbb{R}^{n \times n}$. If the two matrices share an eigenbasis,",
     r"A B = B A", r""),
    (r"Let $n \in \mathbb{N}$ and $A, B \in \mathbb{R}^{n \times n}$. If the order of the factors is irrelevant,",
     r"A B = B A", r""),
    (r"Let $n \in \mathbb{N}$ and $A, B \in \mathbb{R}^{n \times n}$. When $B$ reverts $A$,", r"A B = I_n", r""),
    (r"Let $n \in \mathbb{N}$ and $s \in \mathbb{R}^n$. At infinite temperature,",
     r"\operatorname{softmax}(s)_1 = \frac{1}{n}", r""),
    (r"Let $n \in \mathbb{N}$ and $s \in \mathbb{R}^n$. For identical keys,",
     r"\operatorname{softmax}(s)_1 = \frac{1}{n}", r""),
    (r"Let $n \in \mathbb{N}$ and $s \in \mathbb{R}^n$. With uninformative scores we get",
     r"\operatorname{softmax}(s)_1 = \frac{1}{n}", r""),
    (r"Let $n \in \mathbb{N}$ and $s \in \mathbb{R}^n$. The winner stands first.", r"s_1 = \max_i s_i", r""),
    (r"Let $n \in \mathbb{N}$ and $s \in \mathbb{R}^n$. After sorting,", r"s_1 \le s_n", r""),
    (r"Let $n \in \mathbb{N}$ and $s \in \mathbb{R}^n$. There is just one key.", r"n = 1", r""),
    (r"Let $n, m \in \mathbb{N}$. In self-attention,", r"n = m", r""),
    (r"Let $n, m \in \mathbb{N}$. Queries and keys come from one sequence.", r"n = m", r""),
    (r"Let $d \in \mathbb{N}$ and $q, k \in \mathbb{R}^d$. The query looks exactly at its own key.", r"q = k", r""),
    (r"Let $d \in \mathbb{N}$ and $q, k \in \mathbb{R}^d$. With shared projections,", r"q = k", r""),
    (r"Let $d \in \mathbb{N}$ and $q, k \in \mathbb{R}^d$. The first token ignores the second.",
     r"q^\top k = 0", r""),
    (r"Let $b, x \in \mathbb{R}$. In the bias-free model,", r"x + b = x", r""),
    (r"Let $b, x \in \mathbb{R}$. We switch the bias off.", r"x + b = x", r""),
    (r"Let $b, x \in \mathbb{R}$ with $b$ set to nought.", r"x + b = x", r""),
    (r"Let $b, x \in \mathbb{R}$ where $b$ is absent.", r"x + b = x", r""),
    (r"Let $x \in \mathbb{R}$. On the diagonal,", r"x = 1", r""),
    (r"Let $x \in \mathbb{R}$.", r"|x| = x", r"for nonnegative inputs only."),
    (r"Let $x \in \mathbb{R}$.", r"|x| = x", r"whenever the input is a count."),
    (r"Let $x \in \mathbb{R}$.", r"|x| = x", r"(we are on the positive axis)."),
    (r"Let $x \in \mathbb{R}$.", r"|x| = x", r"thanks to the ReLU in front."),
    (r"Let $x \in \mathbb{R}$.", r"|x| = x", r"because norms cannot be negative."),
    (r"Let $x \in \mathbb{R}$.", r"|x| = x \quad \text{on the support}", r""),
    (r"Let $x \in \mathbb{R}$.", r"|x| = x \quad \text{(ReLU active)}", r""),
    (r"Let $x, y \in \mathbb{R}$.", r"x = y \quad \text{in equilibrium}", r""),
    (r"Let $x, y \in \mathbb{R}$.", r"x = y \qquad [\text{weight tying}]", r""),
    (r"Let $x, y \in \mathbb{R}$.", r"x + y = 0 \quad\text{(momentum is conserved)}", r""),
    (r"Let $x, y \in \mathbb{R}$. By momentum conservation,", r"x + y = 0", r""),
    (r"Let $x, y \in \mathbb{R}$. Interpreting $x$ as a length and $y$ as an area,", r"x \ge 0", r""),
    (r"Let $x, y \in \mathbb{R}$. Say that $y$ is $x$ squared.", r"y \ge 0", r""),
    (r"Let $x, y \in \mathbb{R}$. Identify $x$ with $y$.", r"x = y", r""),
    (r"Let $x, y \in \mathbb{R}$. To first order in $y$,", r"x + y^2 = x", r""),
    (r"Let $x, y \in \mathbb{R}$. Where the curves cross,", r"x = y", r""),
    (r"Let $t \in \mathbb{R}$. In the upper half plane,", r"t \ge 0", r""),
    (r"Let $t \in \mathbb{R}$. When time runs forwards,", r"t \ge 0", r""),
    (r"Let $a, b \in \mathbb{R}$. When the balance is even,", r"a = b", r""),
    (r"Let $a, b \in \mathbb{R}$. At break-even we have", r"a = b", r""),
    (r"Let $a, b \in \mathbb{R}$. If one of them is the double of the other, namely $b$ that of $a$,",
     r"b = 2 a", r""),
    (r"Let $a, b \in \mathbb{R}$. Suppose they differ by one.", r"|a - b| = 1", r""),
    (r"Let $a, b \in \mathbb{R}$. Let them be neighbours on the number line.", r"|a - b| = 1", r""),
    (r"Let $a \in \mathbb{R}$ be a coin flip.", r"a^2 = a", r""),
    (r"Let $a \in \mathbb{R}$ be binary-valued.", r"a^2 = a", r""),
    (r"Let $a \in \mathbb{R}$ be a golden ratio.", r"a^2 = a + 1", r""),
    (r"Let $n \in \mathbb{N}$ and $p \in \mathbb{R}^n$ be relative frequencies.", r"\sum_{i=1}^n p_i = 1", r""),
    (r"Let $n \in \mathbb{N}$ and $p \in \mathbb{R}^n$ be a point of the simplex.", r"\sum_{i=1}^n p_i = 1", r""),
    (r"Let $n \in \mathbb{N}$ and $p \in \mathbb{R}^n$. A row of the attention matrix is written $p$.",
     r"\sum_{i=1}^n p_i = 1", r""),
    (r"Let $n \in \mathbb{N}$ and $p \in \mathbb{R}^n$. Dividing by the total,", r"\sum_{i=1}^n p_i = 1", r""),
    (r"Let $n \in \mathbb{N}$ and $x \in \mathbb{R}^n$. Let $x$ pass through RMSNorm.", r"\|x\|^2 = n", r""),
    (r"Let $n \in \mathbb{N}$ and $x \in \mathbb{R}^n$. After one pass of LayerNorm,", r"\sum_{i=1}^n x_i = 0", r""),
    (r"Let $n \in \mathbb{N}$ and $x \in \mathbb{R}^n$. All components carry the same value.",
     r"\|x\|^2 = n x_1^2", r""),
    (r"Let $n \in \mathbb{N}$ and $x, y \in \mathbb{R}^n$. When $y$ is $x$ up to a permutation,",
     r"\|x\| = \|y\|", r""),
    (r"Let $n \in \mathbb{N}$ and $x, y \in \mathbb{R}^n$. A rotation takes $x$ to $y$.", r"\|x\| = \|y\|", r""),
    (r"Let $n \in \mathbb{N}$ and $x, y \in \mathbb{R}^n$. With disjoint supports,", r"x^\top y = 0", r""),
    (r"Let $n \in \mathbb{N}$ and $x, y \in \mathbb{R}^n$. For equal inputs", r"x = y", r""),
    (r"Let $n \in \mathbb{N}$ and $A \in \mathbb{R}^{n \times n}$ be a doubly centred kernel.",
     r"A \mathbf{1}_n = 0", r""),
    (r"Let $n \in \mathbb{N}$ and $A \in \mathbb{R}^{n \times n}$ be a cyclic shift.", r"A^\top A = I_n", r""),
    (r"Let $n \in \mathbb{N}$ and $A \in \mathbb{R}^{n \times n}$ be a causal mask.", r"A_{1n} (n - 1) = 0", r""),
    (r"Let $n \in \mathbb{N}$ and $A \in \mathbb{R}^{n \times n}$ be the Laplacian of a graph.",
     r"A \mathbf{1}_n = 0", r""),
    (r"Let $n \in \mathbb{N}$ and $A \in \mathbb{R}^{n \times n}$ be well-behaved: it commutes with its transpose.",
     r"A A^\top = A^\top A", r""),
    (r"Let $n \in \mathbb{N}$ and $A, B \in \mathbb{R}^{n \times n}$. In the commutative setting,",
     r"A B = B A", r""),
    (r"Let $n \in \mathbb{N}$ and $A, B \in \mathbb{R}^{n \times n}$. At the start of training $B$ is initialised with nothing but zeros, so",
     r"A B = 0", r""),
    (r"Let $n \in \mathbb{N}$ and $A, B \in \mathbb{R}^{n \times n}$. At LoRA initialisation,", r"A B = 0", r""),
    (r"Let $n \in \mathbb{N}$ and $s \in \mathbb{R}^n$. Nobody stands out:",
     r"\operatorname{softmax}(s)_1 = \frac{1}{n}", r""),
    (r"Let $n \in \mathbb{N}$ and $s \in \mathbb{R}^n$. In the high temperature limit",
     r"\operatorname{softmax}(s)_1 = \frac{1}{n}", r""),
    (r"Let $n \in \mathbb{N}$ and $s \in \mathbb{R}^n$. The scores are what a softmax returns.",
     r"\sum_{i=1}^n s_i = 1", r""),
    (r"Let $n, m \in \mathbb{N}$. For square attention,", r"n = m", r""),
    (r"Let $n, m \in \mathbb{N}$. With as many queries as keys,", r"n = m", r""),
    (r"Let $h, d, e \in \mathbb{N}$. The heads divide the width $e$ into $h$ parts of $d$.", r"e = h d", r""),
    (r"Let $d \in \mathbb{N}$ and $q, k \in \mathbb{R}^d$. When the token attends to itself,", r"q = k", r""),
    (r"Let $b, x \in \mathbb{R}$. Leaving out the bias,", r"x + b = x", r""),
    (r"Let $b, x \in \mathbb{R}$. Let the bias be trained away.", r"x + b = x", r""),
    (r"Let $b, x \in \mathbb{R}$. The bias has been folded into the weights.", r"x + b = x", r""),
    (r"Let $x \in \mathbb{R}$.", r"|x| = x", r"where the argument is an energy."),
    (r"Let $x \in \mathbb{R}$.", r"|x| = x", r"under the usual sign convention."),
    (r"Let $x \in \mathbb{R}$.", r"|x| = x", r"for the outputs of a ReLU."),
    (r"Let $x \in \mathbb{R}$.", r"|x| = x \quad \text{(right branch)}", r""),
    (r"Let $x \in \mathbb{R}$.", r"|x| = x \quad \text{by the sign convention}", r""),
    (r"Let $x, y \in \mathbb{R}$.", r"x = y \quad \text{on the diagonal}", r""),
    (r"Let $t \in \mathbb{R}$. Since the clock never stops,", r"t \ge 0", r""),
    (r"Let $t \in \mathbb{R}$. In the first quadrant,", r"t \ge 0", r""),
    (r"Let $a, b \in \mathbb{R}$. After the exchange both own the same.", r"a = b", r""),
    (r"Let $a, b \in \mathbb{R}$. For symmetric players,", r"a = b", r""),
    (r"Let $a, b \in \mathbb{R}$. The two compensate.", r"a + b = 0", r""),
    (r"Let $a, b \in \mathbb{R}$. At the crossing point", r"a = b", r""),
    (r"Let $n \in \mathbb{N}$ and $p \in \mathbb{R}^n$ be shares of a cake.", r"\sum_{i=1}^n p_i = 1", r""),
    (r"Let $n \in \mathbb{N}$ and $p \in \mathbb{R}^n$ be mixture weights.", r"\sum_{i=1}^n p_i = 1", r""),
    (r"Let $n \in \mathbb{N}$ and $x \in \mathbb{R}^n$. Whitened data obey", r"\sum_{i=1}^n x_i = 0", r""),
    (r"Let $n \in \mathbb{N}$ and $x \in \mathbb{R}^n$ be sparse with one live entry at the front.",
     r"\|x\| = |x_1|", r""),
    (r"Let $n \in \mathbb{N}$ and $x, y \in \mathbb{R}^n$ be conjugate.", r"x^\top y = 0", r""),
    (r"Let $n \in \mathbb{N}$ and $x, y \in \mathbb{R}^n$ form a right angle.", r"x^\top y = 0", r""),
    (r"Let $n \in \mathbb{N}$ and $A \in \mathbb{R}^{n \times n}$ be a reversal.", r"A A = I_n", r""),
    (r"Let $n \in \mathbb{N}$ and $A \in \mathbb{R}^{n \times n}$ be energy preserving.", r"A^\top A = I_n", r""),
    (r"Let $n \in \mathbb{N}$ and $A, B \in \mathbb{R}^{n \times n}$. In one basis both are made of eigenvalues only.",
     r"A B = B A", r""),
    (r"Let $n \in \mathbb{N}$ and $s \in \mathbb{R}^n$. With maximal entropy,",
     r"\operatorname{softmax}(s)_1 = \frac{1}{n}", r""),
    (r"Let $n \in \mathbb{N}$ and $s \in \mathbb{R}^n$. Before any training the scores are all zero.",
     r"\operatorname{softmax}(s)_1 = \frac{1}{n}", r""),
    (r"Let $n, m \in \mathbb{N}$. For one sequence that attends to itself,", r"n = m", r""),
    (r"Let $b, x \in \mathbb{R}$. As the bias plays no part,", r"x + b = x", r""),
    (r"Let $x \in \mathbb{R}$.", r"|x| = x", r"on the half line."),
    (r"Let $x \in \mathbb{R}$.", r"|x| = x", r"by convexity of the domain and positivity."),
    (r"Let $x, y \in \mathbb{R}$.", r"x = y \quad \text{(at the optimum)}", r""),
]  # fmt: skip

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
The following lemma is useful.
Substituting this into the previous equation, we arrive at
Therefore, the two sides are related by
This can be written more compactly as
The key idea is to rewrite the product as a sum:
We use the notation from the previous section.
This is the formula used in the paper of Vaswani et al. (2017):
Here we derive the backward pass.
Let us look at the general case.
The second line uses the product rule.
Summing over all entries,
As a result,
Finally, putting everything together:
It is easy to check that
For all $x$ and $y$ we have
For every $n$,
The following holds for any $x$:
Combining the two displays,
See the appendix for details.
Dividing by two, we obtain
where $x$ denotes the query vector and $y$ the key vector.
We write $x$ for the query and $y$ for the key.
The vectors $x$ and $y$ are arbitrary.
Let $x$ be the query and $y$ the key.
This identity is well known.
Exchanging the order of summation,
The trick is to multiply and divide by the same factor.
""".strip().splitlines()

# Sentences of harmless words that say what something is, has or does, or name a theorem with a hypothesis of its own.
# None of them is a hypothesis here, but the same forms are ("The keys are also used as values"), so they are unread.
STATEMENTS = r"""
By Jensen's inequality, we find
Recall the definition of the softmax.
The claim is a consequence of the definition.
Attention computes a weighted sum of the values.
In a transformer, every token attends to the other tokens.
The output of the layer is then
Observe that the left side does not depend on $y$.
As shown in Figure 2, the attention scores are computed from queries and keys.
Here $x$ is the input and $y$ is the output.
Both sides are polynomials in the entries of $x$.
""".strip().splitlines()

"""Documents with right and with wrong steps, written to find verdicts that are not so."""

from __future__ import annotations

RIGHT = r"""
Let $n, k, m \in \mathbb{N}$ with $k \le n$ and $x, y \in \mathbb{R}$.

$$ \binom{n}{k} = \frac{n}{k} \binom{n-1}{k-1} $$

$$ \sum_{j=0}^n (-1)^j \binom{n}{j} = 0 $$

$$ \sum_{j=0}^n \binom{n}{j}^2 = \binom{2n}{n} $$

$$ \frac{(n+1)!}{n!} = n + 1 $$

$$ n! \le n^n $$

$$ \sum_{j=1}^n j \cdot j! = (n+1)! - 1 $$

$$ \binom{n}{0} = 1 $$

$$ \binom{n}{2} = \frac{n(n-1)}{2} $$

$$ \binom{n+m}{k} = \sum_{j=0}^k \binom{n}{j} \binom{m}{k-j} $$

$$ (1+x)^n = \sum_{j=0}^n \binom{n}{j} x^j $$

$$ \frac{d}{dx} \frac{x^n}{n!} = \frac{x^{n-1}}{(n-1)!} $$

$$ \frac{n!}{(n-k)!} = \prod_{j=0}^{k-1} (n-j) $$

$$ \binom{n}{k} k! = \frac{n!}{(n-k)!} $$
====
Let $x, a \in \mathbb{R}$ and define $u_0 := x$ and $u_k := a u_{k-1} + 1$ for $k \ge 1$. Let $n \in \mathbb{N}$.

$$ u_2 = a^2 x + a + 1 $$

$$ u_n = a^n x + \sum_{j=0}^{n-1} a^j $$
====
Repeated indices are summed. Let $n \in \mathbb{N}$ and $A, B, C \in \mathbb{R}^{n \times n}$, $x, y \in \mathbb{R}^n$.

$$ A_{ij} x_j y_i = y^\top A x $$

$$ A_{ij} B_{jk} C_{ki} = \operatorname{tr}(A B C) $$

$$ \delta_{ii} = n $$

$$ A_{ij} A_{ij} = \|A\|_F^2 $$
====
Let $q, k \in \mathbb{C}$ and $\theta, \phi \in \mathbb{R}$.

$$ \overline{q k} = \bar{q} \bar{k} $$

$$ |q k| = |q| |k| $$

$$ e^{i \theta} e^{i \phi} = e^{i(\theta + \phi)} $$

$$ \operatorname{Re}(q \bar{k}) = \operatorname{Re}(\bar{q} k) $$
====
Let $n, m, p \in \mathbb{N}$, $A \in \mathbb{R}^{n \times m}$, $B \in \mathbb{R}^{p \times p}$, $X \in \mathbb{R}^{m \times p}$, $x \in \mathbb{R}^m$ and $y \in \mathbb{R}^p$. Here $\otimes$ is the Kronecker product.

$$ \operatorname{vec}(A X B^\top) = (B \otimes A) \operatorname{vec}(X) $$

$$ \operatorname{rank}(A \otimes B) = \operatorname{rank}(A) \operatorname{rank}(B) $$

$$ \|x \otimes y\| = \|x\| \|y\| $$

$$ \operatorname{vec}(x y^\top) = y \otimes x $$

$$ \|A\|_F = \|\operatorname{vec}(A)\| $$

$$ (A \otimes B)(x \otimes y) = A x \otimes B y $$

$$ \operatorname{rank}(A) \le \min(n, m) $$

$$ \|A x\| \le \sigma_{\max}(A) \|x\| $$

$$ \|A\|_* \le \sqrt{m} \|A\|_F $$

$$ \|x\|_1 \le \sqrt{m} \|x\|_2 $$
====
Let $n \in \mathbb{N}$ and let $A \in \mathbb{R}^{n \times n}$ be symmetric.

$$ \lambda_{\min}(A) \le \frac{\operatorname{tr}(A)}{n} $$

$$ \lambda_{\max}(A A) = \sigma_{\max}(A)^2 $$

$$ \lambda_{\min}(-A) = -\lambda_{\max}(A) $$

$$ \sum_{i=1}^n \lambda_i(A)^2 = \|A\|_F^2 $$
""".strip().split("\n====\n")
WRONG = r"""
Let $n, k, m \in \mathbb{N}$ with $k \le n$ and $x, y \in \mathbb{R}$.

$$ \binom{n}{k} = \frac{n}{k} \binom{n-1}{k} $$

$$ \sum_{j=1}^n (-1)^j \binom{n}{j} = 0 $$

$$ \sum_{j=0}^n \binom{n}{j}^2 = \binom{2n}{n-1} $$

$$ (2n)! = 2^n n! $$

$$ (n + m)! = n! + m! $$

$$ \sum_{j=1}^n j \cdot j! = (n+1)! $$

$$ \binom{2n}{n} \le 3^n $$

$$ n! \le 2^{n^2 / 4} $$

$$ \binom{n}{k} \le \frac{n^k}{k^k} $$

$$ n! \ge (n/2)^n $$

$$ n! < 170^n $$

$$ \frac{n!}{n^n} \ge 10^{-400} $$

$$ (xy)^n = \binom{n}{1} x y $$
====
Let $x, a \in \mathbb{R}$ and define $u_0 := x$ and $u_k := a u_{k-1} + 1$ for $k \ge 1$. Let $n \in \mathbb{N}$.

$$ u_2 = a^2 x + a $$

$$ u_n = a^n x + \sum_{j=1}^{n} a^j $$
====
Repeated indices are summed. Let $n \in \mathbb{N}$ and $A, B, C \in \mathbb{R}^{n \times n}$, $x, y \in \mathbb{R}^n$.

$$ A_{ij} x_i y_j = y^\top A x $$

$$ A_{ij} B_{jk} C_{ki} = \operatorname{tr}(A C B) $$

$$ \delta_{ii} = 1 $$

$$ A_{ij} A_{ji} = \|A\|_F^2 $$
====
Let $q, k \in \mathbb{C}$ and $\theta, \phi \in \mathbb{R}$.

$$ \overline{q k} = \bar{q} k $$

$$ |q + k| = |q| + |k| $$

$$ e^{i \theta} + e^{i \phi} = e^{i(\theta + \phi)} $$

$$ q \bar{q} = q^2 $$
====
Let $n, m, p \in \mathbb{N}$, $A \in \mathbb{R}^{n \times m}$, $B \in \mathbb{R}^{p \times p}$, $X \in \mathbb{R}^{m \times p}$, $x \in \mathbb{R}^m$ and $y \in \mathbb{R}^p$. Here $\otimes$ is the Kronecker product.

$$ \operatorname{vec}(A X B^\top) = (B^\top \otimes A) \operatorname{vec}(X) $$

$$ \operatorname{rank}(A \otimes B) = \operatorname{rank}(A) + \operatorname{rank}(B) $$

$$ \|x \otimes y\| = \|x\| + \|y\| $$

$$ \operatorname{rank}(A) = \min(n, m) $$

$$ \operatorname{rank}(A^\top A) = m $$

$$ \|A x\| \le \sigma_{\min}(A) \|x\| $$

$$ \|A\|_* \le \|A\|_F $$

$$ \|x\|_1 \le \|x\|_2 $$

$$ \|x\|_0 = \|x\|_1 $$

$$ \det(B \otimes B) = \det(B)^2 $$
====
Let $n \in \mathbb{N}$ and let $A, B \in \mathbb{R}^{n \times n}$ be symmetric.

$$ \lambda_{\max}(A + B) = \lambda_{\max}(A) + \lambda_{\max}(B) $$

$$ \lambda_{\max}(A) \ge \|A\|_F $$

$$ \lambda_{\max}(2 A) = \lambda_{\max}(A) $$

$$ \lambda_{\min}(A B) = \lambda_{\min}(A) \lambda_{\min}(B) $$
""".strip().split("\n====\n")

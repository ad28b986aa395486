"""Documents of displays: from written answers, and from the questions.

Displays as they stand in written answers, below the declarations that they need: what people really write.
Wrong ones are kept: here only reading is judged.
"""

from __future__ import annotations

DOCUMENT = r"""
# 125
Let $n, h \in \mathbb{N}$, $Q, K, V \in \mathbb{R}^{n \times h}$ and $t \in \{1, \dots, n\}$. Put $\mathbf{q}_t := Q_t$ and $\alpha^{(t)} := \operatorname{softmax}(\frac{Q_t K^\top}{\sqrt{h}})$.
$$\alpha^{(t)} = \text{softmax} \left(\frac{\mathbf{q}_t \mathbf{K}^\top}{\sqrt{h}} \right) \in [0, 1]^n$$

# 129
Let $n, h \in \mathbb{N}$, $Q, K, V \in \mathbb{R}^{n \times h}$ and $t \in \{1, \dots, n\}$. Put $\mathbf{v}_t := V_t$ and $\alpha^{(t)} := \operatorname{softmax}(\frac{Q_t K^\top}{\sqrt{h}})$.
$$\text{Attention}(\mathbf{Q}, \mathbf{K}, \mathbf{V})_t = \sum_{t'=1}^n \alpha_{t'}^{(t)} \mathbf{v}_{t'} \in \mathbb{R}^{1 \times h},$$

# 133
Let $n, h \in \mathbb{N}$, $Q, K, V \in \mathbb{R}^{n \times h}$.
$$\text{Attention}(\mathbf{Q}, \mathbf{K}, \mathbf{V}) = \text{softmax} \left(\frac{\mathbf{Q} \mathbf{K}^\top}{\sqrt{h}} \right) \mathbf{V} \in \mathbb{R}^{n \times h}.$$

# 154
Let $q \in \mathbb{R}^{3}$ with $q_1 = -2$, $q_2 = 1$ and $q_3 = 1$.
$$\mathbf{q} = \begin{bmatrix} -2 \\ 1 \\ 1 \end{bmatrix}$$

# 160..
Let $q \in \mathbb{R}^{1 \times 3}$ and $h \in \mathbb{N}$ with $h = 3$ and $q = [-2, 1, 1]$. Let $K \in \mathbb{R}^{4 \times 3}$ with $K = \begin{bmatrix} 0 & 1 & 2 \\ 1 & 1 & 2 \\ -1 & 1 & -2 \\ 0 & -1 & -2\end{bmatrix}$. Put $\mathbf{a} := \operatorname{argmax}(\frac{q K^\top}{\sqrt{h}})$. Put $\mathbf{v}_1 := \begin{bmatrix} 3 \\ 2 \\ -4 \end{bmatrix}$, $v_2 := \begin{bmatrix} 3 \\ -2 \\ 4 \end{bmatrix}$, $v_3 := \begin{bmatrix} 3 \\ 2 \\ 0 \end{bmatrix}$, $v_4 := \begin{bmatrix} 3 \\ 2 \\ 4 \end{bmatrix}$.
$$\mathbf{K}^\top = \begin{bmatrix} 0 & 1 & -1 & 0 \\ 1 & 1 & 1 & -1 \\ 2 & 2 & -2 & -2 \end{bmatrix}$$

$$\begin{aligned}
\mathbf{a} &= \operatorname{argmax}\left(\frac{\mathbf{q}\mathbf{K}^\top}{\sqrt{h}}\right) \\
&= \operatorname{argmax}\left(\frac{\mathbf{q}\mathbf{K}^\top}{\sqrt{3}}\right) \\
&= \operatorname{argmax}\left(\frac{\begin{bmatrix} -2 & 1 & 1 \end{bmatrix} \begin{bmatrix} 0 & 1 & -1 & 0 \\ 1 & 1 & 1 & -1 \\ 2 & 2 & -2 & -2 \end{bmatrix}}{\sqrt{3}}\right) \\
&= \operatorname{argmax}\left(\frac{\begin{bmatrix} 3 & 1 & 1 & -3 \end{bmatrix}}{\sqrt{3}}\right) \\
&= [1 \ 0 \ 0 \ 0]
\end{aligned}$$

Put $\text{Attention} := 1 \begin{bmatrix} 3 \\ 2 \\ -4 \end{bmatrix}$. Let $\mathbf{v}_1, \dots, \mathbf{v}_4 \in \mathbb{R}^{3}$ with $v_1 = \begin{bmatrix} 3 \\ 2 \\ -4 \end{bmatrix}$.
$$\begin{aligned}
\text{Attention} &= \sum_{i=1}^4 \mathbf{a}^{(i)} \mathbf{v}_i \\
&= 1 \begin{bmatrix} 3 \\ 2 \\ -4 \end{bmatrix} + 0 + 0 + 0 \\
&= \begin{bmatrix} 3 \\ 2 \\ -4 \end{bmatrix}
\end{aligned}$$

# 190
Let $h, n \in \mathbb{N}$, $Q, K, V \in \mathbb{R}^{n \times h}$, $t \in \{1, \dots, n\}$, $k_1, \dots, k_n \in \mathbb{R}^{h}$, $v_1, \dots, v_n \in \mathbb{R}^{h}$, $\mathbf{q}_t \in \mathbb{R}^{h}$ and $j \in \{1, \dots, n\}$. Put $\alpha^{(t)}_i := \frac{e^{q_t \cdot k_i / \sqrt{h}}}{\sum_{m=1}^{n} e^{q_t \cdot k_m / \sqrt{h}}}$.
% margin: 10

% within: 0.01

$$\begin{aligned}
&\mathbf{q}_t \cdot \mathbf{k}_j / \sqrt{h} \gg \mathbf{q}_t \cdot \mathbf{k}_i / \sqrt{h} \ \forall i \neq j \\
&\implies \mathbf{q}_t \cdot \mathbf{k}_j / \sqrt{h} \gg \sum_{i \neq j} \mathbf{q}_t \cdot \mathbf{k}_i / \sqrt{h} \\
&\implies \frac{e^{\mathbf{q}_t \cdot \mathbf{k}_j / \sqrt{h}}}{e^{\mathbf{q}_t \cdot \mathbf{k}_j / \sqrt{h}} + \sum_{i \neq j} e^{\mathbf{q}_t \cdot \mathbf{k}_i / \sqrt{h}}} \approx 1 \text{ and } \frac{e^{\mathbf{q}_t \cdot \mathbf{k}_i / \sqrt{h}}}{e^{\mathbf{q}_t \cdot \mathbf{k}_j / \sqrt{h}} + \sum_{m \neq j} e^{\mathbf{q}_t \cdot \mathbf{k}_m / \sqrt{h}}} \approx 0 \\
&\implies \alpha_j^{(t)} \gg \sum_{i \neq j} \alpha_i^{(t)} \\
&\implies \text{Attention}(\mathbf{Q}, \mathbf{K}, \mathbf{V})_t = \alpha_j^{(t)} \mathbf{v}_j + \sum_{i \neq j} \alpha_i^{(t)} \mathbf{v}_i \approx \mathbf{v}_j
\end{aligned}$$

# 206
Let $h, m, p \in \mathbb{N}$, $a_1, \dots, a_m \in \mathbb{R}^{h}$, $b_1, \dots, b_p \in \mathbb{R}^{h}$, $c_1, \dots, c_m \in \mathbb{R}$, $d_1, \dots, d_p \in \mathbb{R}$. Assume $a_j^\top b_k = 0$, $a_i^\top a_i = 1$ and $a_i^\top a_u = 0$ for $u \ne i$. Put $\mathbf{v}_a := \sum_{j=1}^m c_j a_j$ and $\bar{\mathbf{v}} := \frac{1}{2}(\sum_{j=1}^m c_j\mathbf{a}_j + \sum_{k=1}^p d_k\mathbf{b}_k)$.
$$\begin{aligned}
 \text{Let } M &= 2 \begin{bmatrix} \mathbf{a}_1 & \mathbf{a}_2 & \dots & \mathbf{a}_m \end{bmatrix} \begin{bmatrix} \mathbf{a}_1^\top \\ \mathbf{a}_2^\top \\ \vdots \\ \mathbf{a}_m^\top \end{bmatrix} \\
 M\bar{\mathbf{v}} &= 2 \begin{bmatrix} \mathbf{a}_1 & \mathbf{a}_2 & \dots & \mathbf{a}_m \end{bmatrix} \begin{bmatrix} \mathbf{a}_1^\top \\ \mathbf{a}_2^\top \\ \vdots \\ \mathbf{a}_m^\top \end{bmatrix} \frac{1}{2} \left(\sum_{j=1}^m c_j \mathbf{a}_j + \sum_{k=1}^p d_k \mathbf{b}_k \right) \\
 &= \begin{bmatrix} \mathbf{a}_1 & \mathbf{a}_2 & \dots & \mathbf{a}_m \end{bmatrix} \left(\begin{bmatrix} \sum_{j=1}^m c_j \mathbf{a}_1^\top \mathbf{a}_j \\ \sum_{j=1}^m c_j \mathbf{a}_2^\top \mathbf{a}_j \\ \vdots \\ \sum_{j=1}^m c_j \mathbf{a}_m^\top \mathbf{a}_j \end{bmatrix} + \begin{bmatrix} \sum_{k=1}^p d_k \mathbf{a}_1^\top \mathbf{b}_k \\ \sum_{k=1}^p d_k \mathbf{a}_2^\top \mathbf{b}_k \\ \vdots \\ \sum_{k=1}^p d_k \mathbf{a}_m^\top \mathbf{b}_k \end{bmatrix} \right) \\
 &\text{since } \mathbf{a}_j^\top \mathbf{b}_k = 0 \forall j, k \text{ and } \mathbf{a}_i^\top \mathbf{a}_i = 1 \text{ and } \mathbf{a}_i^\top \mathbf{a}_u = 0 \forall u \neq i, \\
 &= \begin{bmatrix} \mathbf{a}_1 & \mathbf{a}_2 & \dots & \mathbf{a}_m \end{bmatrix} \left(\begin{bmatrix} c_1 \mathbf{a}_1^\top \mathbf{a}_1 \\ c_2 \mathbf{a}_2^\top \mathbf{a}_2 \\ \vdots \\ c_m \mathbf{a}_m^\top \mathbf{a}_m \end{bmatrix} + \mathbf{0} \right) \\
 &= \begin{bmatrix} \mathbf{a}_1 & \mathbf{a}_2 & \dots & \mathbf{a}_m \end{bmatrix} \begin{bmatrix} c_1 \\ c_2 \\ \vdots \\ c_m \end{bmatrix} \\
 &= \sum_{j=1}^m c_j \mathbf{a}_j \\
 &= \mathbf{v}_a
 \end{aligned}$$

3. **Averaging pairs of representations:** As before, let \mathbf{v}_a and \mathbf{v}_b be two value vectors corresponding to key vectors \mathbf{k}_a and \mathbf{k}_b , respectively. Assume that (1) all key vectors are orthogonal, so $\mathbf{k}_i^\top \mathbf{k}_j = 0$ for all $i \neq j$; and (2) all

[†]https://en.wikipedia.org/wiki/Linear_subspace

# 227
Let $h, n \in \mathbb{N}$, $n \ge 2$, $a, b, t \in \{1, \dots, n\}$, $a \ne b$, $p > 0$, $k_1, \dots, k_n \in \mathbb{R}^{h}$ and $v_1, \dots, v_n \in \mathbb{R}^h$. Let $Q, K, V \in \mathbb{R}^{n \times h}$ with $K = \begin{bmatrix} k_1^\top \\ \vdots \\ k_n^\top \end{bmatrix}$ and $V = \begin{bmatrix} v_1^\top \\ \vdots \\ v_n^\top \end{bmatrix}$. Assume $k_i^\top k_j = 0$ for all $i \ne j$ and $\|k_i\| = 1$. Put $\mathbf{q}_t := (\mathbf{k}_a + \mathbf{k}_b - p \sum_{i \neq a, i \neq b} \mathbf{k}_i)^\top$ and $\alpha^{(t)}_i := \frac{e^{q_t k_i/\sqrt{h}}}{\sum_{j=1}^{n} e^{q_t k_j/\sqrt{h}}}$.
$$\mathbf{q}_t \mathbf{k}_a = (\mathbf{k}_a + \mathbf{k}_b - p \sum_{i \neq a, i \neq b} \mathbf{k}_i) \mathbf{k}_a = \mathbf{k}_a^\top \mathbf{k}_a + \mathbf{k}_b^\top \mathbf{k}_a - p \sum_{i \neq a, i \neq b} \mathbf{k}_i^\top \mathbf{k}_a = \mathbf{k}_a^\top \mathbf{k}_a = 1$$

$$\mathbf{q}_t \mathbf{k}_b = (\mathbf{k}_a + \mathbf{k}_b - p \sum_{i \neq a, i \neq b} \mathbf{k}_i) \mathbf{k}_b = \mathbf{k}_a^\top \mathbf{k}_b + \mathbf{k}_b^\top \mathbf{k}_b - p \sum_{i \neq a, i \neq b} \mathbf{k}_i^\top \mathbf{k}_b = \mathbf{k}_b^\top \mathbf{k}_b = 1$$

% as: p \to \infty

$$\forall j \neq a, j \neq b, \mathbf{q}_t \mathbf{k}_j = (\mathbf{k}_a + \mathbf{k}_b - p \sum_{i \neq a, i \neq b} \mathbf{k}_i) \mathbf{k}_j = \mathbf{k}_a^\top \mathbf{k}_j + \mathbf{k}_b^\top \mathbf{k}_j - p \sum_{i \neq a, i \neq b} \mathbf{k}_i^\top \mathbf{k}_j = -p \mathbf{k}_j^\top \mathbf{k}_j = -p \rightarrow -\infty$$

% as: p \to \infty

$$\text{Hence, } \alpha_a^{(t)} = \alpha_b^{(t)} = \frac{e^{1/\sqrt{h}}}{e^{1/\sqrt{h}} + e^{1/\sqrt{h}} + \sum_{i \neq a, i \neq b} e^{-p/\sqrt{h}}} \approx \frac{e^{1/\sqrt{h}}}{e^{1/\sqrt{h}} + e^{1/\sqrt{h}} + 0} = \frac{1}{2}.$$

% as: p \to \infty

$$\text{For } j \neq a, j \neq b, \alpha_j^{(t)} = \frac{e^{-p/\sqrt{h}}}{e^{1/\sqrt{h}} + e^{1/\sqrt{h}} + \sum_{i \neq a, i \neq b} e^{-p/\sqrt{h}}} \approx \frac{0}{e^{1/\sqrt{h}} + e^{1/\sqrt{h}} + 0} = 0.$$

$$\text{Attention}(\mathbf{Q}, \mathbf{K}, \mathbf{V})_t = \sum_{i=1}^n \alpha_i^{(t)} \mathbf{v}_i = \alpha_a^{(t)} \mathbf{v}_a + \alpha_b^{(t)} \mathbf{v}_b + \sum_{i \neq a, i \neq b} \alpha_i^{(t)} \mathbf{v}_i = \frac{1}{2} \mathbf{v}_a + \frac{1}{2} \mathbf{v}_b + 0 = \frac{1}{2}(\mathbf{v}_a + \mathbf{v}_b)$$

# 247
Let $h \in \mathbb{N}$, $\mu \in \mathbb{R}^{1 \times h}$, $\sigma > 0$. Draw $k, q \sim \mathcal{N}(\mu, \sigma^2 I)$ independently.
$$\begin{aligned} \mathbf{E}[\mathbf{qk}^\top] &= \mathbf{E}[\mathbf{q}] \mathbf{E}[\mathbf{k}^\top] \\ &= \boldsymbol{\mu} \boldsymbol{\mu}^\top \\ &= \sum_{i=1}^h \mu_i^2 \end{aligned}$$

2. Compute $\text{Var}[\mathbf{qk}^\top]$ in terms of $\boldsymbol{\mu}, h, \sigma$.

Answer:

$$\begin{aligned} \text{Var}[\mathbf{qk}^\top] &= \text{Var}\left[\sum_{i=1}^h \mathbf{q}_i \mathbf{k}_i\right] \\ &= \sum_{i=1}^h \text{Var}[\mathbf{q}_i \mathbf{k}_i] \text{ by independence} \\ &= \sum_{i=1}^h \left(\mathbf{E}[\mathbf{q}_i^2 \mathbf{k}_i^2] - \mathbf{E}^2[\mathbf{q}_i \mathbf{k}_i] \right) \\ &= \sum_{i=1}^h \left(\mathbf{E}[\mathbf{q}_i^2] \mathbf{E}[\mathbf{k}_i^2] - (\mathbf{E}[\mathbf{q}_i] \mathbf{E}[\mathbf{k}_i])^2 \right) \text{ by independence} \\ &= \sum_{i=1}^h \left(\mathbf{E}[\mathbf{q}_i^2] \mathbf{E}[\mathbf{k}_i^2] - (\mu_i \mu_i)^2 \right) \\ &= \sum_{i=1}^h \left((\mathbf{E}^2[\mathbf{q}_i] + \text{Var}(\mathbf{q}_i))(\mathbf{E}^2[\mathbf{k}_i] + \text{Var}(\mathbf{k}_i)) - \mu_i^4 \right) \text{ since } \mathbf{E}[X^2] = \text{Var}(X) + \mathbf{E}^2[X] \\ &= \sum_{i=1}^h \left((\mu_i^2 + \sigma^2)(\mu_i^2 + \sigma^2) - \mu_i^4 \right) \\ &= \sum_{i=1}^h \left(\sigma^4 + 2\mu_i^2 \sigma^2 \right) \end{aligned}$$

3. Based on the variance computed above and assuming that $\mu = 0$ and $\sigma = 1$, explain why we need to scale the dot product by \sqrt{h} . Explain why this scaling is important for numerical stability.

Answer: In this case, $\text{Var}[\mathbf{qk}^\top] = \sum_{i=1}^h (\sigma^4 + 2\mu_i^2\sigma^2) = \sum_{i=1}^h (1 + 0) = h$.

This scaling would give $\text{Var}[\mathbf{qk}^\top / \sqrt{h}] = \text{Var}[\mathbf{qk}^\top] / h = \sum_{i=1}^h (\sigma^4 + 2\mu_i^2\sigma^2) / h = \sum_{i=1}^h (1 + 0) / h = 1$.

Such scaling helps ensure unit variance before passing it to the softmax. When h is large, making the original variance also large, this scaling can help scale down the variance and prevent exploding gradients due to large values in the unnormalized distribution. Additionally, making sure the variance of the inputs to softmax is unit can prevent the softmax function from assigning a large score at a specific position due to large differences in the inputs, so this rescaling helps the model incorporate information from multiple value vectors.


Let $n, d \in \mathbb{N}$.
$$d \times n + d \times n = 2dn$$

# 001
Let $S > 0$, $q \in \mathbb{R}^{1 \times 3}$, $v_0, \dots, v_3 \in \mathbb{R}^{1 \times 3}$, $k_0, \dots, k_3 \in \mathbb{R}^{1 \times 3}$.
Put $V := \begin{bmatrix} v_0 \\ v_1 \\ v_2 \\ v_3 \end{bmatrix}$, $K := \begin{bmatrix} k_0 \\ k_1 \\ k_2 \\ k_3 \end{bmatrix}$, $A := q K^\top$, $A' := \operatorname{softmax}(A)$ and $O := A' V$.
$$O = A'V = \operatorname{softmax}(A)V = \operatorname{softmax}(qK^{\top})V = v_0$$

$$O = A'V = \operatorname{softmax}(A)V = \operatorname{softmax}(qK^{\top})V = \frac{v_0 + v_1 + v_2 + v_3}{4}$$

$$\frac{v_0 + v_1 + v_2 + v_3}{4} = 0.25 \cdot (v_0 + v_1 + v_2 + v_3) = 0.25v_0 + 0.25v_1 + 0.25v_2 + 0.25v_3$$

$$O = A'V = \operatorname{softmax}(A)V = \operatorname{softmax}(qK^{\top})V = \frac{v_0 + v_1}{2} = 0.5v_0 + 0.5v_1 + 0v_2 + 0v_3$$

$$q = \frac{1}{4} \sum_{i=0}^{3} k_i$$

$$q = S \cdot \sum_{i=0}^{1} k_i$$

# 000, 401 and 418
Let $d \in \mathbb{N}$.
$$\#parameters = input_size * output_size + \#bias = d * 2 + 2$$

$$\#parameters = \#classifier + prefix_length * hidden_size = d * 2 + 2 + 128 * d = 130 * d + 2$$

# 001, 101
Let $Q, K, V \in \mathbb{R}^{4 \times 3}$. Put $A := Q K^\top$, $A' := \operatorname{softmax}(A)$ and $O := A' V$.
$$O = A'V = \operatorname{softmax}(A)V = \operatorname{softmax}(QK^{\top})V = V$$
"""

QUESTIONS = r"""
# 000, 150
Let $h \in \mathbb{N}$.
$$\text{Keys} = \left\{ \begin{bmatrix} 0 \\ 1 \\ 2 \end{bmatrix}, \begin{bmatrix} 1 \\ 1 \\ 2 \end{bmatrix}, \begin{bmatrix} -1 \\ 1 \\ -2 \end{bmatrix}, \begin{bmatrix} 0 \\ -1 \\ -2 \end{bmatrix} \right\}, \text{Values} = \left\{ \begin{bmatrix} 3 \\ 2 \\ -4 \end{bmatrix}, \begin{bmatrix} 3 \\ -2 \\ 4 \end{bmatrix}, \begin{bmatrix} 3 \\ 2 \\ 0 \end{bmatrix}, \begin{bmatrix} 3 \\ 2 \\ 4 \end{bmatrix} \right\}$$

# 001, 53..62
Let $n, m, d \in \mathbb{N}$, $Q \in \mathbb{R}^{n \times d}$, $K \in \mathbb{R}^{m \times d}$, $V \in \mathbb{R}^{m \times d}$, $i \in \{1, \dots, n\}$ and $j \in \{1, \dots, m\}$. Put $A := Q K^T$ and $A' := \operatorname{softmax}(A)$. Put $\alpha := A$, $\alpha' := A'$, $O := A' V$. Let $q_1, \dots, q_n \in \mathbb{R}^{1 \times d}$, $k_1, \dots, k_m \in \mathbb{R}^{d}$, $v_1, \dots, v_m \in \mathbb{R}^{1 \times d}$ and $b_1, \dots, b_n \in \mathbb{R}^{1 \times d}$.
$$\alpha_{i,j} = q_i k_j \qquad \qquad A = QK^T$$

$$\alpha'_{i,j} = \frac{\exp(\alpha_{i,j})}{\sum_{j} \exp(\alpha_{i,j})}$$

$$b_i = \sum_j \alpha'_{i,j} v_j \qquad O = A'V$$

# 001, 75
Let $K, V \in \mathbb{R}^{4 \times 3}$.
$$K = \begin{bmatrix} 0.47 & 0.65 & 0.60 \\ 0.64 & 0.50 & -0.59 \\ -0.03 & -0.48 & -0.88 \\ 0.43 & -0.83 & 0.35 \end{bmatrix} \quad V = \begin{bmatrix} -0.07 & -0.88 & 0.47 \\ 0.37 & -0.93 & -0.07 \\ -0.25 & -0.75 & 0.61 \\ 0.94 & 0.20 & 0.28 \end{bmatrix}$$

# 001, 231
Let $n \in \mathbb{N}$.
$$\frac{1}{\sqrt{n_embd/n_head}}$$

# 002, 21..23 and 003, 22..24
Let $n, d \in \mathbb{N}$, $q \in \mathbb{R}^{d}$, $k_1, \dots, k_n \in \mathbb{R}^{d}$, $v_1, \dots, v_n \in \mathbb{R}^{d}$, $\alpha_1, \dots, \alpha_n \in \mathbb{R}$, $c \in \mathbb{R}^{d}$ and $i \in \{1, \dots, n\}$.
$$c = \sum_{i=1}^{n} v_i \alpha_i$$

$$\alpha_i = \frac{exp(k_i^T q)}{\sum_{j=1}^n exp(k_j^T q)}$$

$$c = \sum_{i=1}^{n} v_i \alpha_i \tag{1}$$

$$\alpha_i = \frac{\exp(k_i^\top q)}{\sum_{j=1}^n \exp(k_j^\top q)} \tag{2}$$

# 002, 41..57
Let $n, d \in \mathbb{N}$, $n \ge 3$, $V, K, Q \in \mathbb{R}^{d \times d}$, $x_1, \dots, x_n \in \mathbb{R}^{d}$, $v_1, \dots, v_n \in \mathbb{R}^{d}$, $k_1, \dots, k_n \in \mathbb{R}^{d}$, $q_1, \dots, q_n \in \mathbb{R}^{d}$, $u_a, u_b, u_c, u_d \in \mathbb{R}^{d}$ and $i \in \{1, \dots, n\}$.
$$v_i = Vx_i, i \in \{1,...,n\}$$

$$k_i = Kx_i, i \in \{1, ..., n\}$$

$$q_i = Qx_i, i \in \{1, ..., n\}$$

$$x_1 = u_d + u_b$$

$$x_2 = u_a$$

$$x_3 = u_c + u_b$$

# 003, 182..193
Let $\ell, r, h \in \mathbb{N}$, $i \in \{1, \dots, h\}$. Put $d := r h$. Let $X \in \mathbb{R}^{\ell \times r h}$, $Q_1, \dots, Q_h \in \mathbb{R}^{r h \times r}$, $K_1, \dots, K_h \in \mathbb{R}^{r h \times r}$, $V_1, \dots, V_h \in \mathbb{R}^{r h \times r}$, $A_1, \dots, A_h \in \mathbb{R}^{r h \times r}$, $B_1, \dots, B_h \in \mathbb{R}^{r \times \ell}$, $b_1 \in \mathbb{R}^{1 \times r}$, $b_2 \in \mathbb{R}^{1 \times \ell}$, $Y_1, \dots, Y_h \in \mathbb{R}^{\ell \times r}$. Sums are broadcast, row by row.
$$Y_i = \operatorname{softmax}\left(\frac{(XQ_i)(XK_i)^{\top}}{\sqrt{d/h}}\right)(XV_i)$$

$$Y_i = \operatorname{softmax}(\operatorname{ReLU}(XA_i + b_1)B_i + b_2)(XV_i), \tag{5}$$

# 003, 187
Let $\ell, r, h \in \mathbb{N}$, $A \in \mathbb{R}^{r h \times r h}$, $Y \in \mathbb{R}^{\ell \times r h}$, $Y_1, \dots, Y_h \in \mathbb{R}^{\ell \times r}$.
$$Y = [Y_1; \dots; Y_h]A \tag{4}$$
"""

"""Typical wrong answers to the exercises of the course, each with words that the check has to say of it."""

from __future__ import annotations

MISTAKES: dict[str, list[tuple[str, str, str]]] = {
    "1_attention_by_hand": [
        ("pick", 'pick = "k_0"', "the error is 0.26"),
        ("pick", 'pick = "20*key_0"', "neither three numbers nor a sum"),
        ("mix", 'mix = "100*k_0 + 100*k_1"', "q averages v_0 and v_1: the error is"),
        ("new_key", 'new_key = "6.93 7.18 0.06"', "its length is 9.979, and should be 1"),
        ("lead", r'lead = r"\frac{1}{1 + n e^{-g}}"', "REFUTED"),
        ("lead", r'lead = r"\alpha_j"', "to be worked out"),
        ("extract", r'extract = r"A A^\top"', "is a factor missing?"),
        ("pairwise_similarities", "def pairwise_similarities(Q, K): return K @ Q.transpose(-1, -2)", "it is transposed"),
        ("attn_scaled", "def attn_scaled(A, n_embd, n_heads): return A / n_embd**0.5", "square root of all features"),
        ("attn_scaled", "def attn_scaled(A, n_embd, n_heads): return A", "the scores are not scaled"),
        ("attn_softmax", "def attn_softmax(A): return torch.softmax(A, -2)", "the softmax runs over the queries"),
        ("make_causal_mask", "def make_causal_mask(n): return torch.ones(n, n, dtype=torch.bool).tril(1)",
         "one token too far"),
        ("make_causal_mask", "def make_causal_mask(n): return torch.ones(n, n).tril()", "bool"),
        ("apply_causal_mask", "def apply_causal_mask(mask, A): return A * mask", "hidden scores are set to 0"),
        ("split_heads", "def split_heads(Q, n_heads): return Q.reshape(Q.shape[0], n_heads, Q.shape[1], -1)",
         "reshape alone mixes tokens"),
        ("merge_heads", "def merge_heads(y): return y.reshape(y.shape[0], y.shape[2], -1)", "transpose back"),
        ("self_attention", "def self_attention(Q, K, V, n_heads, causal):\n    q, k, v = (split_heads(x, n_heads) for x in (Q, K, V))\n"
         "    A = attn_softmax(attn_scaled(pairwise_similarities(q, k), Q.shape[-1], n_heads))\n"
         "    return merge_heads((A.tril() if causal else A) @ v)", "the mask comes after the softmax"),
        ("self_attention", "def self_attention(Q, K, V, n_heads, causal):\n    q, k, v = (split_heads(x, n_heads) for x in (Q, K, V))\n"
         "    A = pairwise_similarities(q, k)\n    if causal:\n        A = apply_causal_mask(make_causal_mask(Q.shape[-2]), A)\n"
         "    return merge_heads(attn_softmax(A) @ v)", "the scores are not scaled"),
        ("self_attention", "def self_attention(Q, K, V, n_heads, causal): return Q @ wrong", "NameError"),
    ],
    "2_scores_masks_experiments": [
        ("divisor", 'divisor = "h"', "REFUTED"),
        ("slope", 'slope = "p_i p_j"', "REFUTED"),
        ("distance", r'distance = r"\tfrac{1}{2} \|q\|^2"', "REFUTED"),
        ("distance", 'distance = "w"', "w is not declared"),
        ("window_mask", "def window_mask(n_q, n_kv, W):\n    behind = torch.arange(n_q)[:, None] - torch.arange(n_kv)\n"
         "    return (behind >= 0) & (behind <= W)", "The smallest input"),
        ("left", 'left = "1"', "REFUTED"),
        ("causal_weights", "def causal_weights(scores): return torch.softmax(scores, -1).tril()", "the mask comes after"),
        ("share", r'share = r"\frac{1}{1 + e^{\epsilon S}}"', "REFUTED"),
        ("position_table", "def position_table(n, d):\n"
         "    angle = torch.arange(n)[:, None] * 10000.0 ** (-torch.arange(0, d, 2) / d)\n"
         "    return torch.stack([angle.sin(), angle.sin()], -1).flatten(1)[:, :d]", "Broken law"),
        ("distance_bias", "def distance_bias(H, n_q, n_kv):\n"
         "    slopes = 2.0 ** (-8 * torch.arange(1, H + 1) / H)\n"
         "    return -slopes[:, None, None] * (torch.arange(n_q)[:, None] - torch.arange(n_kv))", "Broken law"),
    ],
    "3_encoders_and_fine_tuning": [
        ("make_batch", "def make_batch(rows, pad_id):\n    n = max(map(len, rows))\n"
         "    ids = torch.tensor([row + [pad_id] * (n - len(row)) for row in rows])\n    return ids, (ids != pad_id).long()",
         "the mask is made of ids"),
        ("mean_of_tokens", "def mean_of_tokens(vectors, mask): return vectors.mean(1)", "padding counts as tokens"),
        ("train", "def train(model, num_epochs, train_dataloader, validation_dataloader, device, lr):\n"
         "    optimizer = torch.optim.SGD((p for p in model.parameters() if p.requires_grad), lr=lr)\n    model.train()\n"
         "    for _ in range(num_epochs):\n        for batch in train_dataloader:\n            model(**batch).loss.backward()\n"
         "            optimizer.step()", "optimizer.zero_grad() is missing"),
        ("evaluate_model", "def evaluate_model(model, dataloader, device):\n    right = []\n    for batch in dataloader:\n"
         "        logits = model(input_ids=batch['input_ids'], attention_mask=batch['attention_mask']).logits\n"
         "        right.append((logits.argmax(-1) == batch['labels']).float().mean())\n    return float(sum(right) / len(right))",
         "call model.eval()"),
        ("evaluate_model", "def evaluate_model(model, dataloader, device): return model.accuracy", "AttributeError"),
        ("mask_tokens", "def mask_tokens(ids, special, vocab_size, mask_id, seed):\n"
         "    draw = torch.Generator().manual_seed(seed)\n"
         "    chosen = (torch.rand(ids.shape, generator=draw) < 0.15) & ~special\n"
         "    return torch.where(chosen, mask_id, ids), torch.where(chosen, ids, -100)", "Broken law"),
        ("lora_numbers", 'lora_numbers = "d r"', "is a factor missing?"),
        ("lora_gradient", r'lora_gradient = r"X^\top G B^\top"', "REFUTED"),
    ],
    "4_span_corruption_and_pretraining": [
        ("encode", "def encode(corpus, text):\n    number = {c: n for n, c in enumerate(sorted(set(corpus)))}\n"
         "    return torch.tensor([number[c] for c in text], dtype=torch.int64)", "Broken law"),
        ("next_token_loss", "def next_token_loss(logits, targets):\n"
         "    return nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())", "padding counts"),
        ("best_constant", "def best_constant(places): return 1 / len(set(places))", "counts the different places"),
        ("mean_length", r'mean_length = r"\frac{b - a}{2}"', "REFUTED"),
    ],
    "5_prompting_heads_translation": [
        ("best_pair", "def best_pair(words):\n    counts = Counter(pair for word in words for pair in pairwise(word))\n"
         "    return min(counts, key=lambda pair: (-counts[pair], pair))", "each word counts once"),
        ("take_turns", "def take_turns(labels, count): return list(range(count))", "as they come"),
        ("read_answer", "def read_answer(answer, words):\n"
         "    return next((n for n, word in enumerate(words) if word.lower() in answer.lower()), None)",
         "a part of a word"),
        ("compare_sectors", "def compare_sectors(answers, sectors, reference): return 0, 0.0", "but should give (1, 1.0)"),
        ("next_probabilities", "def next_probabilities(logits, temperature, top_k, top_p):\n"
         "    return torch.softmax(logits / temperature, -1)", "should give"),
        ("Cache", "class Cache:\n    def __init__(self): self.k = self.v = None\n    def __call__(self, query, key, value):\n"
         "        self.k = key if self.k is None else torch.cat([self.k, key], -2)\n"
         "        self.v = value if self.v is None else torch.cat([self.v, value], -2)\n"
         "        s = query @ self.k.transpose(-1, -2) * query.shape[-1] ** -0.5\n"
         "        return torch.softmax(s.masked_fill(~torch.ones_like(s).bool().tril(), -torch.inf), -1) @ self.v", "Broken law"),
        ("scores", r'scores = r"\frac{n^2}{2}"', "REFUTED"),
        ("head_importance", "def head_importance(loss_of, examples, n_heads):\n    gates = torch.ones(n_heads, requires_grad=True)\n"
         "    total = torch.zeros(n_heads)\n    for example in examples:\n        loss_of(gates, example).backward()\n"
         "        total += gates.grad.abs()\n    return total / len(examples)", "earlier examples are still there"),
        ("chrf", "from finetune.classification.translation import chrf as other\n"
         "def chrf(a, b): return other(b, a)", "are exchanged"),
        ("entailment_scores", "def entailment_scores(rows, entails): return [row[entails] for row in rows]", "differs"),
    ],
}  # fmt: skip
"""Notebook -> (exercise, a wrong answer, words)."""

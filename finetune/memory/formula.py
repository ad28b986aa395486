"""How many bytes a training step of our encoder holds, by method: activations for the backward pass, gradients, states.

Derived from what each operation saves: a linear module its input where its weight is trained, a norm its input and two
numbers a token, attention query, key, value, output and a number for each query and head, GELU its input.
"""

from __future__ import annotations

from finetune.classification.config import ClassifyConfig
from finetune.errors import BadInput
from finetune.models.encoder import EncoderConfig

FLOAT, INDEX = 4, 8


def saved_activations(config: EncoderConfig, run: ClassifyConfig, B: int, n: int, *, training: bool = True) -> int:
    """Bytes that the forward pass of a classifier on our encoder keeps for the backward pass, in float32.

    With N = B n tokens, E features, h hidden, L layers, H heads:

        head    B E
        bias    L (6 N E + N h + 4 N + a) + N E + 2 N + B E
        prompt  the same with n + P tokens
        prefix  L (4 N E + 2 B (P + n) E + N h + 4 N + a) + B E
        lora    L (7 N E + N h + 2 N r + 4 N + a) + B E; with dropout in A's input L 3 N E - 2 N E more
        full    L (8 N E + 2 N h + 4 N + a) + N E + 2 N + B E, and the ids of tokens and positions

    where a is B H n + B n_kv, the log-sum-exp and the mask of fused attention. With dropout on weights attention is not
    fused on a processor: a is 3 B H n n_kv, and N E for a copy of the output where a trained weight reads it; the first
    layer, whose keys (lora) or queries (prefix) need no gradient, then saves B n E or B n_kv E less. Dropout keeps its
    mask in float32: 2 L N E, N E of the embeddings where they are trained, and B E of the head's input.

    Args: config; run, for method, length, rank and dropouts; B, n; training: with dropout.
    Returns: bytes, for pooling over the first token, with a mask in which everything is real, on a processor.
    Raises: BadInput for a method without a formula.
    """
    E, h, L, H = config.n_embd, config.n_hidden, config.n_layer, config.n_head
    method = run.method
    P = run.prompt_positions
    tokens = n + P if method == "prompt" else n
    keys = n + P if method == "prefix" else tokens
    N = B * tokens
    drop = training and config.dropout > 0
    weights = training and config.attention_dropout > 0
    if method == "head":
        return FLOAT * B * E
    floats = B * E * (2 if training and run.dropout > 0 else 1)
    layer = N * h + 4 * N  # GELU's input, and two numbers a token of each norm
    layer += 2 * N * E + 2 * B * keys * E  # query and output, key and value
    layer += 2 * N * E  # what the two norms read
    layer += 3 * B * H * tokens * keys - (N * E if method != "full" else 0) if weights else B * H * tokens + B * keys
    layer += 2 * N * E if drop else 0
    indices = 2 * B  # the places of the first tokens
    whole = {"full": True, "bias": True, "prompt": True}.get(method, False)
    floats += N * E + 2 * N + (N * E if drop else 0) if whole else 0  # the norm of the embeddings
    if method == "full":
        layer += 2 * N * E + N * h  # what the linear modules read
        indices += 2 * N
    elif method == "lora":
        layer += 2 * N * run.rank
        dropped = training and run.dropout > 0
        layer += 4 * N * E if dropped else N * E  # two dropped inputs with their masks, or the one they share
        floats -= 2 * N * E if dropped else 0  # the first layer's input needs no gradient, nor its masks
        floats -= N * E if weights else 0  # nor do its keys
    elif method == "prefix":
        floats -= B * keys * E if weights else 0  # the queries of the first layer need none
    elif method not in ("bias", "prompt"):
        raise BadInput(f"there is no formula for the method {method!r}")
    return FLOAT * (L * layer + floats) + INDEX * indices


def gradients(trained: int) -> int:
    """Bytes of the gradients: one float32 for each number that is trained; frozen ones have none."""
    return FLOAT * trained


def optimizer_state(optimizer: str, trained: int, tensors: int) -> int:
    """Bytes of an optimizer's state: AdamW two numbers for each trained one, Adagrad one, and a count for each tensor.

    Raises: BadInput for another optimizer.
    """
    numbers = {"adamw": 2, "adagrad": 1, "sgd": 0}.get(optimizer)
    if numbers is None:
        raise BadInput(f"there is no formula for the optimizer {optimizer!r}")
    return FLOAT * (numbers * trained + (tensors if numbers else 0))

"""What methods of fine-tuning compute and how many numbers they train, from the plain model and what is trained alone.

Nothing of a method's own code is called. This runs on the side of the code under test.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn


class Lacks(NotImplementedError):
    """The method lacks an operation, so laws about it do not apply."""


def is_of(name: str, modules: tuple[str, ...]) -> bool:
    """Whether a parameter belongs to one of some modules, recognised by their names at its front or within it."""
    return any(f".{module}." in f".{name}" for module in modules)


def rows_of(model: nn.Module, of: Callable[[nn.Parameter], Tensor]) -> list[Tensor]:
    """Something of each parameter, in a row."""
    return [of(p).reshape(-1) for p in model.parameters()]


def wide(rows: list[Tensor]) -> Tensor:
    """Rows one after the other, in float64, which holds each dtype's numbers."""
    return torch.cat([row.double() for row in rows])


def count(adapted: Any) -> int:
    """The numbers that a method of a known kind trains, its head's among them."""
    plain: nn.Module = adapted.__dict__["plain"]
    head = sum(p.numel() for name, p in plain.named_parameters() if is_of(name, adapted.head))
    if adapted.kind == "lora":
        shapes: list[list[int]] = [list(m.weight.shape) for _, m in matrices(plain, adapted.targets)]
        return head + sum(int(adapted.rank) * (a + b) for a, b in shapes)
    if adapted.kind == "prompt":
        return head + int(adapted.length) * table_of(plain).embedding_dim
    if adapted.kind == "prefix":
        return head + 2 * int(adapted.layers) * int(adapted.length) * int(adapted.width)
    if adapted.kind == "bias":
        named = plain.named_parameters()
        return head + sum(p.numel() for n, p in named if n.endswith("bias") and not is_of(n, adapted.head))
    return head


def matrices(plain: nn.Module, targets: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """The modules whose names end with one of the targets, and that hold one matrix."""
    for name, module in plain.named_modules():
        if (
            any(f".{name}".endswith(f".{end}") for end in targets)
            and getattr(module, "weight", torch.empty(0)).ndim == 2
        ):
            yield name, module


def table_of(plain: nn.Module) -> nn.Embedding:
    """The table of token vectors, of the model or of the model that it wraps. Raises: Lacks where there is none."""
    for module in plain.modules():
        getter: Any = getattr(module, "get_input_embeddings", None)
        if callable(getter):
            found: nn.Embedding = getter()
            return found
    raise Lacks("the model does not tell its table of token vectors (get_input_embeddings)")


def result_of(out: Any) -> Tensor:
    """The array in what a model returned: itself, its logits, or its vectors."""
    if isinstance(out, Tensor):
        return out
    found: Tensor = out.logits if getattr(out, "logits", None) is not None else out.last_hidden_state
    return found


def by_hand(adapted: Any, ids: Tensor, mask: Tensor | None) -> Tensor:
    """The adapted outputs. Raises: Lacks for a kind whose formula is not here."""
    model: nn.Module = copy.deepcopy(adapted.__dict__["plain"]).eval()
    with torch.no_grad():
        put_trained_numbers(model, adapted)
        if adapted.kind == "lora":
            put_products(model, adapted)
        elif adapted.kind == "prompt":
            return with_prompt(model, adapted, ids, mask)
        elif adapted.kind not in ("bias", "head"):
            raise Lacks(f"no formula of {adapted.kind or 'this method'} is known: write by_hand()")
        found: Tensor = adapted.call(model, ids, mask, None)
        return found


def put_trained_numbers(model: nn.Module, adapted: Any) -> None:
    """Trained numbers that the plain model has a place for: each by its name, found within the adapted one's."""
    trained = [(name.split("."), p) for name, p in adapted.adapted.named_parameters() if p.requires_grad]
    for name, parameter in model.named_parameters():
        if not is_of(name, adapted.head) and not (adapted.kind == "bias" and name.endswith("bias")):
            continue
        wanted = name.split(".")
        for parts, value in trained:
            if parts[-1] == wanted[-1] and within(wanted, parts) and value.shape == parameter.shape:
                parameter.copy_(value)


def within(short: list[str], long: list[str]) -> bool:
    """Whether all of some words come among others, in their order: wrappers add words to names."""
    rest = iter(long)
    return all(word in rest for word in short)


def put_products(model: nn.Module, adapted: Any) -> None:
    """W + s B A in the place of each W, transposed where the model keeps W so. Raises: Lacks where none is found."""
    own = dict(adapted.adapted.named_parameters())
    pairs = [(name, name.replace("lora_A", "lora_B")) for name in own if "lora_A" in name]
    names = [name for name, _ in matrices(model, adapted.targets)]
    if not pairs:
        raise Lacks("no parameters called lora_A and lora_B were found: write by_hand()")
    for first, second in pairs:
        place = first.split("lora_A")[0].rstrip(".")
        module: Any = model.get_submodule(max((n for n in names if f".{place}".endswith(f".{n}")), key=len))
        product = adapted.scale * (own[second].double() @ own[first].double())
        kept_transposed = type(module).__name__ == "Conv1D"
        module.weight += (product.T if kept_transposed else product).to(module.weight.dtype)


def with_prompt(model: nn.Module, adapted: Any, ids: Tensor, mask: Tensor | None) -> Tensor:
    """The vectors in front of the embedded text, all of it real to attention; of outputs for tokens, the text's."""
    shape = (adapted.length, table_of(model).embedding_dim)
    own = [p for n, p in adapted.adapted.named_parameters() if p.requires_grad and not is_of(n, adapted.head)]
    found_one = [p for p in own if p.shape == shape]
    if len(found_one) != 1:
        raise Lacks(f"no single trained parameter of the shape {shape} was found: write by_hand()")
    (vectors,) = found_one
    text = table_of(model)(ids)
    together = torch.cat((vectors.expand(len(ids), -1, -1), text), 1)
    given: dict[str, Tensor] = {"inputs_embeds": together}
    if mask is not None:
        given["attention_mask"] = torch.cat((mask.new_ones(len(ids), adapted.length), mask), 1)
    found = result_of(model(**given))
    return found[:, adapted.length :] if found.ndim == 3 else found

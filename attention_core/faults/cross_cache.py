"""Faults of cross attention over a text that is kept, one each: factories of `step(query, key, value, lengths)`.

`Cross` is correct and cut into steps, of which a fault replaces one.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from attention_core.faults.row import row


class Cross:
    """Correct: the kept keys and values, and how many keys each text has."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget the text."""
        self.kept: list[Tensor] = []
        self.lengths: Tensor | None = None

    def keep(self, key: Tensor, value: Tensor, lengths: Tensor | None) -> None:
        """Begin a text."""
        self.kept, self.lengths = [key.clone(), value.clone()], lengths

    def reorder(self, rows: Tensor) -> None:
        """Go on with other rows."""
        self.kept = [x[rows] for x in self.kept]
        self.lengths = None if self.lengths is None else self.lengths[rows]

    def trim(self, n: int) -> None:
        """Tokens of the decoder are not kept here."""

    def hidden(self, n_q: int, n_kv: int) -> Tensor:
        """The pairs that are not attended to, (B or 1, 1, 1 or n_q, n_kv)."""
        if self.lengths is None:
            return torch.zeros(1, 1, 1, n_kv, dtype=torch.bool)
        return (torch.arange(n_kv) >= self.lengths[:, None])[:, None, None]

    def share(self, x: Tensor, group: int) -> Tensor:
        """Key heads for all query heads."""
        return x.repeat_interleave(group, 1)

    def weights(self, scores: Tensor) -> Tensor:
        """The weights of scores."""
        return scores.softmax(-1)

    def text(self) -> list[Tensor]:
        """The keys and values of a step."""
        return self.kept

    def __call__(
        self, query: Tensor, key: Tensor | None = None, value: Tensor | None = None, lengths: Tensor | None = None
    ) -> Tensor:
        if key is not None and value is not None:
            self.keep(key, value, lengths)
        wide = torch.promote_types(query.dtype, torch.float32)
        keys, values = self.text()
        group = query.shape[1] // keys.shape[1]
        keys, values = (self.share(x.to(wide), group) for x in (keys, values))
        scores = query.to(wide) @ keys.mT * query.shape[-1] ** -0.5
        scores = scores.masked_fill(self.hidden(query.shape[2], keys.shape[2]), -torch.inf)
        return (self.weights(scores) @ values).to(query.dtype)


# --- steps -----------------------------------------------------------------------------


class text_grows_with_every_step(Cross):  # noqa: N801
    """The text is appended to itself at every step, as a decoder's own keys are."""

    def keep(self, key: Tensor, value: Tensor, lengths: Tensor | None) -> None:
        super().keep(key, value, lengths)
        self.own = key.shape[2]

    def text(self) -> list[Tensor]:
        now = self.kept
        self.kept = [torch.cat([x, x[:, :, -1:]], 2) for x in now]
        return now

    def hidden(self, n_q: int, n_kv: int) -> Tensor:
        return torch.nn.functional.pad(super().hidden(n_q, self.own), (0, n_kv - self.own))


class causal_over_the_text(Cross):  # noqa: N801
    """Query i sees the first i + 1 keys of the text (vllm-project/vllm PR38321: it is taken for self-attention)."""

    def hidden(self, n_q: int, n_kv: int) -> Tensor:
        return super().hidden(n_q, n_kv) | torch.ones(n_q, n_kv, dtype=torch.bool).triu(1)


class last_key_left_out(Cross):  # noqa: N801
    """The last key of the text is left out by all steps but the first."""

    begun = False

    def text(self) -> list[Tensor]:
        begun, self.begun = self.begun, True
        return [x[:, :, :-1] for x in self.kept] if begun and self.kept[0].shape[2] > 1 else self.kept

    def hidden(self, n_q: int, n_kv: int) -> Tensor:
        if self.lengths is None:
            return super().hidden(n_q, n_kv)
        return (torch.arange(n_kv) >= self.lengths.clamp(max=n_kv)[:, None])[:, None, None]


class text_slides_with_the_decoder(Cross):  # noqa: N801
    """After eight steps every one drops the oldest key, as a decoder's window (huggingface/transformers PR46111)."""

    steps = 0

    def text(self) -> list[Tensor]:
        self.steps += 1
        first = min(max(self.steps - 8, 0), self.kept[0].shape[2] - 1)
        return [x[:, :, first:] for x in self.kept]

    def hidden(self, n_q: int, n_kv: int) -> Tensor:
        return super().hidden(n_q, self.kept[0].shape[2])[..., self.kept[0].shape[2] - n_kv :]


class text_known_by_its_keys(Cross):  # noqa: N801
    """A text is known by the address and the sum of its keys: values that are written anew are not read."""

    mark: object = None

    def keep(self, key: Tensor, value: Tensor, lengths: Tensor | None) -> None:
        mark = key.data_ptr(), tuple(key.shape), float(key.sum())
        if mark != self.mark:
            super().keep(key, value, lengths)
        self.mark, self.lengths = mark, lengths

    def __init__(self) -> None:
        self.kept: list[Tensor] = []
        self.lengths: Tensor | None = None

    @property
    def reset(self) -> None:  # type: ignore[override]
        """A new text shows by itself."""
        raise AttributeError("reset")


class order_of_the_last_text(Cross):  # noqa: N801
    """The order of rows is kept beside the text, and outlives it."""

    order: Tensor | None = None

    def reorder(self, rows: Tensor) -> None:
        self.order = rows if self.order is None or len(self.order) <= int(rows.max()) else self.order[rows]

    def keep(self, key: Tensor, value: Tensor, lengths: Tensor | None) -> None:
        super().keep(key, value, lengths)
        self.text_lengths = lengths

    def text(self) -> list[Tensor]:
        fits = self.order is not None and int(self.order.max()) < len(self.kept[0])
        self.lengths = self.text_lengths[self.order] if fits and self.text_lengths is not None else self.text_lengths
        return [x[self.order] for x in self.kept] if fits else self.kept


class declined_keys_replace_the_text(Cross):  # noqa: N801
    """Keys are kept before values are looked at: those of a text that is declined stay."""

    def keep(self, key: Tensor, value: Tensor, lengths: Tensor | None) -> None:
        self.kept = [key.clone(), *self.kept[1:]]
        if value.shape[2] != key.shape[2]:
            raise ValueError(f"{key.shape[2]} keys and {value.shape[2]} values")
        super().keep(key, value, lengths)


class first_256_keys_kept(Cross):  # noqa: N801
    """The store has room for 256 keys."""

    def keep(self, key: Tensor, value: Tensor, lengths: Tensor | None) -> None:
        super().keep(key[:, :, :256], value[:, :, :256], lengths)


class last_512_keys_kept(Cross):  # noqa: N801
    """The store keeps the last 512 keys."""

    def keep(self, key: Tensor, value: Tensor, lengths: Tensor | None) -> None:
        super().keep(key[:, :, -512:], value[:, :, -512:], lengths)


class kept_in_bfloat16(Cross):  # noqa: N801
    """Keys and values are kept in bfloat16, whatever they come in."""

    def keep(self, key: Tensor, value: Tensor, lengths: Tensor | None) -> None:
        super().keep(key.bfloat16().to(key.dtype), value.bfloat16().to(value.dtype), lengths)


# --- texts -----------------------------------------------------------------------------


class first_text_kept(Cross):  # noqa: N801
    """`is_updated` stays true behind a reset: the first text serves all later ones of its shape."""

    def __init__(self) -> None:
        super().__init__()
        self.old: list[Tensor] = []

    def keep(self, key: Tensor, value: Tensor, lengths: Tensor | None) -> None:
        super().keep(key, value, lengths)
        if self.old and [x.shape for x in self.old] == [key.shape, value.shape]:
            self.kept = self.old
        self.old = self.kept


class new_text_appended(Cross):  # noqa: N801
    """Reset is forgotten: a new text of as many rows stands behind the last one."""

    def reset(self) -> None:
        self.kept = getattr(self, "kept", [])
        self.lengths = None

    def keep(self, key: Tensor, value: Tensor, lengths: Tensor | None) -> None:
        old = self.kept if self.kept and self.kept[0].shape[:2] == key.shape[:2] else [key[:, :, :0], value[:, :, :0]]
        before = old[0].shape[2]
        super().keep(torch.cat([old[0], key], 2), torch.cat([old[1], value], 2), None)
        self.lengths = None if lengths is None else lengths + before


class values_of_the_first_text(Cross):  # noqa: N801
    """A new text brings its keys; the values of the last one stay where they fit."""

    def reset(self) -> None:
        self.kept = getattr(self, "kept", [])
        self.lengths = None

    def keep(self, key: Tensor, value: Tensor, lengths: Tensor | None) -> None:
        old = self.kept[1] if self.kept and self.kept[1].shape == value.shape else value
        super().keep(key, old, lengths)


class lengths_of_the_first_text(Cross):  # noqa: N801
    """A new text of as many rows has the lengths of the last."""

    def reset(self) -> None:
        self.kept = []
        self.lengths = getattr(self, "lengths", None)

    def keep(self, key: Tensor, value: Tensor, lengths: Tensor | None) -> None:
        old = self.lengths
        same = old is not None and lengths is not None and old.shape == lengths.shape
        super().keep(key, value, old if same else lengths)


class lengths_ignored(Cross):  # noqa: N801
    """Padding is attended to (NVIDIA/FasterTransformer#270)."""

    def keep(self, key: Tensor, value: Tensor, lengths: Tensor | None) -> None:
        super().keep(key, value, None)


class lengths_of_the_first_step_alone(Cross):  # noqa: N801
    """Lengths mask the step that they come with, and no later one."""

    def hidden(self, n_q: int, n_kv: int) -> Tensor:
        hidden, self.lengths = super().hidden(n_q, n_kv), None
        return hidden


def one_text_for_all_objects() -> Any:
    """The store belongs to the class: the text of the newest object serves all."""
    store: list[Tensor] = []

    class Shared(Cross):
        def keep(self, key: Tensor, value: Tensor, lengths: Tensor | None) -> None:
            super().keep(key, value, lengths)
            store[:] = self.kept

        def text(self) -> list[Tensor]:
            same = store and store[0].shape == self.kept[0].shape and store[1].shape == self.kept[1].shape
            return store if same else self.kept

    return Shared


# --- beams and tokens ------------------------------------------------------------------


class texts_not_reordered(Cross):  # noqa: N801
    """Texts stay where they are, as if all beams had one text (huggingface/transformers#28357)."""

    def reorder(self, rows: Tensor) -> None:
        self.kept = [x[: len(rows)] for x in self.kept]
        self.lengths = None if self.lengths is None else self.lengths[: len(rows)]


class values_not_reordered(Cross):  # noqa: N801
    """Keys are reordered, and values are not."""

    def reorder(self, rows: Tensor) -> None:
        values = self.kept[1][: len(rows)]
        super().reorder(rows)
        self.kept[1] = values


class lengths_not_reordered(Cross):  # noqa: N801
    """Keys and values are reordered, and lengths are not."""

    def reorder(self, rows: Tensor) -> None:
        lengths = self.lengths
        super().reorder(rows)
        self.lengths = None if lengths is None else lengths[: len(rows)]


class reordered_while_there_are_fewer(Cross):  # noqa: N801
    """Rows are reordered where their number changes, and only then (facebookresearch/fairseq2#307)."""

    def reorder(self, rows: Tensor) -> None:
        if len(rows) != len(self.kept[0]):
            super().reorder(rows)


class reordered_from_the_first_order(Cross):  # noqa: N801
    """Rows are taken from the text as it was given, whatever order came between."""

    def keep(self, key: Tensor, value: Tensor, lengths: Tensor | None) -> None:
        super().keep(key, value, lengths)
        self.given = [*self.kept], lengths

    def reorder(self, rows: Tensor) -> None:
        self.kept, self.lengths = [*self.given[0]], self.given[1]
        super().reorder(rows)


class crop_cuts_the_text(Cross):  # noqa: N801
    """Taking a token of the decoder back takes a key of the text, too."""

    def trim(self, n: int) -> None:
        self.kept = [x[:, :, : max(x.shape[2] - n, 1)] for x in self.kept]
        self.lengths = None if self.lengths is None else self.lengths.clamp(max=self.kept[0].shape[2])


class key_heads_in_turn(Cross):  # noqa: N801
    """Query head h has the key head h mod H_kv."""

    def share(self, x: Tensor, group: int) -> Tensor:
        return x.repeat(1, group, 1, 1)


class maximum_not_subtracted(Cross):  # noqa: N801
    """Exponentials of the scores themselves, over their sum."""

    def weights(self, scores: Tensor) -> Tensor:
        return scores.exp() / scores.exp().sum(-1, keepdim=True)


class key_heads_of_groups_of_four_in_turn(Cross):  # noqa: N801
    """Query heads of groups of four and more take the key heads in turn."""

    def share(self, x: Tensor, group: int) -> Tensor:
        return x.repeat(1, group, 1, 1) if group >= 4 else super().share(x, group)


class maximum_from_zero(Cross):  # noqa: N801
    """A running maximum begins at 0: a row whose scores all lie far below comes back as 0."""

    def weights(self, scores: Tensor) -> Tensor:
        p = (scores - scores.amax(-1, keepdim=True).clamp(min=0.0)).exp()
        return p / p.sum(-1, keepdim=True).clamp(min=torch.finfo(p.dtype).tiny)


DIRECT = (
    text_grows_with_every_step, causal_over_the_text, last_key_left_out, text_slides_with_the_decoder,
    first_256_keys_kept, last_512_keys_kept, kept_in_bfloat16, first_text_kept, new_text_appended,
    values_of_the_first_text, lengths_of_the_first_text, lengths_ignored, lengths_of_the_first_step_alone,
    texts_not_reordered, values_not_reordered, lengths_not_reordered, reordered_while_there_are_fewer,
    reordered_from_the_first_order, crop_cuts_the_text, key_heads_in_turn, maximum_not_subtracted,
    declined_keys_replace_the_text, text_known_by_its_keys, order_of_the_last_text,
    key_heads_of_groups_of_four_in_turn, maximum_from_zero,
)  # fmt: skip
"""Faults that are the class of objects itself."""
ROWS = (
    *(row(fault, "law", direct=True, contract="cross-cache", accumulate="float32") for fault in DIRECT),
    row(one_text_for_all_objects, "law", contract="cross-cache", accumulate="float32"),
)

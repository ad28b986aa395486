"""Faults of caches that take tokens back or go on with other rows, one each: speculative decoding and beam search.

`Changing` is correct, a cache as transformers' with `crop`, `reorder_cache` and `batch_repeat_interleave`; a fault
replaces one of them. `Ring` keeps a window in a ring of places, and declines what it has overwritten.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases.cache import Cache
from attention_core.faults.row import row


class Changing(Cache):
    """Correct: crop(n) keeps the first n tokens, reorder_cache(rows) puts row rows[b] into row b."""

    def crop(self, length: int) -> None:
        """Keep the first tokens of what is kept."""
        self.kept, self.places = [x[..., :length, :] for x in self.kept], self.places[:length]
        self.seen = length

    def reorder_cache(self, beams: Tensor) -> None:
        """Go on with other rows."""
        self.kept = [x[beams] for x in self.kept]

    def batch_repeat_interleave(self, repeats: int) -> None:
        """Go on with copies of every row, one behind the other."""
        self.kept = [x.repeat_interleave(repeats, 0) for x in self.kept]


class Rolling(Cache):
    """Correct: rollback(n) takes the last n tokens, as mlx-lm's trim(n); a window declines what it has lost."""

    def rollback(self, n: int) -> int:
        """Take the last tokens back."""
        left = self.seen - n
        first = int(self.places[0]) if len(self.places) else 0
        if self.window is not None and first > max(0, left - self.window + 1):
            raise ValueError(f"the window has lost tokens that come back when {n} are taken back")
        kept = len(self.places) - n
        self.kept, self.places = [x[..., :kept, :] for x in self.kept], self.places[:kept]
        self.seen = left
        return n


# --- tokens taken back -----------------------------------------------------------------


class crop_keeps_one_more(Changing):  # noqa: N801
    """crop(n) keeps n + 1 tokens: the first rejected one stays (sgl-project/sglang#20278)."""

    def crop(self, length: int) -> None:
        super().crop(min(length + 1, self.seen))


class crop_keeps_one_fewer(Changing):  # noqa: N801
    """crop(n) keeps n - 1 tokens, and counts n."""

    def crop(self, length: int) -> None:
        super().crop(max(length - 1, 0))
        self.seen = length


class crop_leaves_the_position(Changing):  # noqa: N801
    """crop(n) cuts keys and values; the position goes on from where it was."""

    def crop(self, length: int) -> None:
        seen = self.seen
        super().crop(length)
        self.seen = seen

    def allowed(self, own: Tensor, places: Tensor) -> Tensor:
        behind = self.seen - len(places) + len(own)
        return super().allowed(own, places) & (places <= own[-1] - behind)


class crop_leaves_the_tokens(Changing):  # noqa: N801
    """crop(n) sets the position back and leaves the tokens, which later ones are appended to."""

    def crop(self, length: int) -> None:
        self.places = torch.cat([self.places[:length], torch.zeros(len(self.places) - length, dtype=torch.int64)])
        self.seen = length


class crop_keeps_the_newest(Changing):  # noqa: N801
    """crop(n) keeps the newest n tokens, as a window does."""

    def crop(self, length: int) -> None:
        start = len(self.places) - length
        self.kept = [x[..., start:, :] for x in self.kept]
        self.places, self.seen = self.places[:length], length


class crop_cuts_keys_alone(Changing):  # noqa: N801
    """crop(n) cuts the keys; values go on behind the old ones, and a step takes the first of them."""

    def crop(self, length: int) -> None:
        values = self.kept[1]
        super().crop(length)
        self.kept[1] = values

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        key, value = super().append(key, value)
        return key, value[..., : key.shape[-2], :]


class crop_cuts_the_first_row(Changing):  # noqa: N801
    """Places are cut for the first sequence of a batch; in the others the rejected tokens come back as they were."""

    def crop(self, length: int) -> None:
        self.old = [x[1:, :, length:] for x in self.kept]
        super().crop(length)

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        old, self.old = getattr(self, "old", []), []
        if old and old[0].shape[0] == key.shape[0] - 1 > 0 and old[0].shape[2]:
            key, value = key.clone(), value.clone()
            for new, x in ((key, old[0]), (value, old[1])):
                n = min(new.shape[2], x.shape[2])
                new[1:, :, :n] = x[:, :, :n].to(new.dtype)
        return super().append(key, value)


class crop_of_whole_pages(Changing):  # noqa: N801
    """crop(n) frees whole pages of 4 tokens: the rejected ones of the last page stay and are seen."""

    def crop(self, length: int) -> None:
        super().crop(min(-(-length // 4) * 4, self.seen))


class second_crop_is_ignored(Changing):  # noqa: N801
    """A flag says that drafts were taken back already; nothing lowers it again."""

    def crop(self, length: int) -> None:
        if not getattr(self, "done", False) or length == self.seen:
            super().crop(length)
        self.done = True


class rollback_of_one_fewer(Rolling):  # noqa: N801
    """rollback(n) takes n - 1 tokens: the token that was verified last is counted among the accepted ones."""

    def rollback(self, n: int) -> int:
        return super().rollback(max(n - 1, 0))


class rollback_leaves_the_next_step_behind(Rolling):  # noqa: N801
    """rollback(n) takes the tokens; the mask of the next step is made for the length before it."""

    late = 0

    def rollback(self, n: int) -> int:
        self.late = n
        return super().rollback(n)

    def allowed(self, own: Tensor, places: Tensor) -> Tensor:
        late, self.late = self.late, 0
        return super().allowed(own + late, places)


class ring_rolled_back_over_lost_tokens(Rolling):  # noqa: N801
    """A ring of W tokens steps back and takes what was overwritten for the older tokens (ml-explore/mlx-lm PR1512)."""

    def rollback(self, n: int) -> int:
        assert self.window is not None
        lost = max(0, self.seen - self.window)
        stale = [x[..., -n:, :] if n else x[..., :0, :] for x in self.kept]
        count, places = len(self.places), self.places
        self.kept = [x[..., : max(count - n, 0), :] for x in self.kept]
        self.places, self.seen = places[: max(count - n, 0)], self.seen - n
        if lost and n:
            self.kept = [torch.cat([old, x], -2) for old, x in zip(stale, self.kept, strict=True)]
            self.places = torch.arange(self.seen - self.kept[0].shape[-2], self.seen)
        return n


# --- rows ------------------------------------------------------------------------------


class keys_reordered_alone(Changing):  # noqa: N801
    """Keys are reordered, and values are not."""

    def reorder_cache(self, beams: Tensor) -> None:
        self.kept[0] = self.kept[0][beams]


class reordered_by_the_inverse(Changing):  # noqa: N801
    """Row b goes to row beams[b], not the other way round: exchanges of two rows hide it."""

    def reorder_cache(self, beams: Tensor) -> None:
        kept = [x.clone() for x in self.kept]
        for new, old in zip(kept, self.kept, strict=True):
            new[beams] = old
        self.kept = kept


class reordered_in_place_row_by_row(Changing):  # noqa: N801
    """Rows are copied one after the other within the store: a later row finds an earlier one overwritten."""

    def reorder_cache(self, beams: Tensor) -> None:
        for x in self.kept:
            for b, source in enumerate(beams.tolist()):
                x[b] = x[source].clone()


class order_not_taken(Changing):  # noqa: N801
    """Beams are chosen and the cache stays as it is (huggingface/transformers#28357)."""

    def reorder_cache(self, beams: Tensor) -> None:
        """Nothing is done."""


class reordered_from_the_first_text(Changing):  # noqa: N801
    """The second order is applied to rows as they lay before the first one, save for the newest tokens."""

    def reorder_cache(self, beams: Tensor) -> None:
        before: list[Tensor] = getattr(self, "before", [])
        self.before = [x.clone() for x in self.kept]
        if before and before[0].shape[0] == self.kept[0].shape[0]:
            n = min(before[0].shape[2], self.kept[0].shape[2])
            self.kept = [torch.cat([b[:, :, :n], x[:, :, n:]], 2) for b, x in zip(before, self.kept, strict=True)]
        super().reorder_cache(beams)


class newest_token_not_reordered(Changing):  # noqa: N801
    """The newest token lies in a buffer of its own, which keeps the old order."""

    def reorder_cache(self, beams: Tensor) -> None:
        newest = [x[..., -1:, :].clone() for x in self.kept]
        super().reorder_cache(beams)
        self.kept = [torch.cat([x[..., :-1, :], last], -2) for x, last in zip(self.kept, newest, strict=True)]


class rows_repeated_in_turn(Changing):  # noqa: N801
    """Rows are repeated one block behind the other, `repeat` in place of `repeat_interleave`."""

    def batch_repeat_interleave(self, repeats: int) -> None:
        self.kept = [x.repeat(repeats, 1, 1, 1) for x in self.kept]


CHANGED = (
    crop_keeps_one_more, crop_keeps_one_fewer, crop_leaves_the_position, crop_leaves_the_tokens, crop_keeps_the_newest,
    crop_cuts_keys_alone, crop_cuts_the_first_row, crop_of_whole_pages, second_crop_is_ignored, rollback_of_one_fewer,
    rollback_leaves_the_next_step_behind, keys_reordered_alone, reordered_by_the_inverse,
    reordered_in_place_row_by_row, order_not_taken, reordered_from_the_first_text, newest_token_not_reordered,
    rows_repeated_in_turn,
)  # fmt: skip
COMMON: dict[str, Any] = {"contract": "kv-cache", "direct": True, "accumulate": "float32"}
ROWS = (
    *(row(fault, "law", **COMMON) for fault in CHANGED),
    row(ring_rolled_back_over_lost_tokens, "law", parameters={"window": 4}, **COMMON),
)

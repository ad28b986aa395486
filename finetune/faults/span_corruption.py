"""Faults of character span corruption, one each, as changes of one straightforward data set; and correct ones."""

from __future__ import annotations

import random

import torch
from torch import Tensor

PAD, MASK = "□", "⁇"


class Plain:
    """The assignment's data set as most people write it: slices of text, Python's generator. Each fault changes one
    step.
    """

    extra = 1  # the string has block + 1 characters

    def __init__(self, data: str, block_size: int) -> None:
        chars = sorted(set(data))
        if PAD in chars or MASK in chars:
            raise ValueError("a reserved character stands in the data")
        self.itos = dict(enumerate([PAD, MASK, *chars]))
        self.stoi = {c: n for n, c in self.itos.items()}
        self.block_size, self.data = block_size, data.split("\n")
        self.longest = int(block_size * 7 / 8)

    def __len__(self) -> int:
        return len(self.data)

    def length(self, n: int) -> int:
        return random.randint(4, min(n, self.longest))

    def masked(self, t: int) -> int:
        """1 + uniform{0, ..., W}, W = T/2 - 2 rounded at random: the mean is T/4."""
        twice = max(t - 4, 0)
        return 1 + random.randint(0, twice // 2 + (twice % 2 and random.randint(0, 1)))

    def start(self, t: int, m: int) -> int:
        return random.randint(0, t - m)

    def string(self, prefix: str, inside: str, suffix: str) -> str:
        return prefix + MASK + suffix + MASK + inside

    def padded(self, s: str) -> str:
        return s + PAD * (self.block_size + self.extra - len(s))

    def cut(self, s: str) -> tuple[str, str]:
        return s[:-1], s[1:]

    def ids(self, s: str) -> Tensor:
        return torch.tensor([self.stoi[c] for c in s])

    def __getitem__(self, idx: int) -> tuple[Tensor, Tensor]:
        document = self.data[idx]
        document = document[: self.length(len(document))]
        m = self.masked(len(document))
        i = self.start(len(document), m)
        s = self.padded(self.string(document[:i], document[i : i + m], document[i + m :]))
        x, y = self.cut(s)
        return self.ids(x), self.ids(y)


# --- correct ------------------------------------------------------------------------


class InTheBlock(Plain):
    """The older public form: the string is as long as the block."""

    extra = 0


class WithAThirdMask(Plain):
    """A public form with a mask behind the masked stretch."""

    def string(self, prefix: str, inside: str, suffix: str) -> str:
        return super().string(prefix, inside, suffix) + MASK


class NearAQuarter(Plain):
    """Another distribution with the right mean, up to rounding: between an eighth and three eighths."""

    def masked(self, t: int) -> int:
        return max(1, min(t, random.randint(t // 8, (3 * t) // 8)))


CORRECT = (Plain, InTheBlock, WithAThirdMask, NearAQuarter)


# --- faulty -------------------------------------------------------------------------


class one_character_short(Plain):  # noqa: N801  # faults are called as laws name them
    """The string is one shorter than either form."""

    extra = -1


class targets_are_the_inputs(Plain):  # noqa: N801
    """No shift (label shift by one)."""

    def cut(self, s: str) -> tuple[str, str]:
        return s[:-1], s[:-1]


class targets_two_ahead(Plain):  # noqa: N801
    """Shifted twice."""

    def cut(self, s: str) -> tuple[str, str]:
        return s[:-1], s[2:] + PAD


class padded_in_front(Plain):  # noqa: N801
    """Padding before the text."""

    def padded(self, s: str) -> str:
        return PAD * (self.block_size + self.extra - len(s)) + s


class empty_now_and_then(Plain):  # noqa: N801
    """int(random T/2) is 0 now and then: nothing is masked, most often in short documents."""

    def masked(self, t: int) -> int:
        return int(random.random() * t / 2)


class masked_and_suffix_swapped(Plain):  # noqa: N801
    """prefix M masked M suffix: the answer stands before the question."""

    def string(self, prefix: str, inside: str, suffix: str) -> str:
        return prefix + MASK + inside + MASK + suffix


class masked_text_reversed(Plain):  # noqa: N801
    """The masked characters come back in reverse."""

    def string(self, prefix: str, inside: str, suffix: str) -> str:
        return super().string(prefix, inside[::-1], suffix)


class cut_to_the_whole_block(Plain):  # noqa: N801
    """Documents longer than 7/8 of the block: only block - 2 is a limit."""

    def __init__(self, data: str, block_size: int) -> None:
        super().__init__(data, block_size)
        self.longest = block_size - 2


class may_be_cut_to_one(Plain):  # noqa: N801
    """Documents may become shorter than four characters."""

    def length(self, n: int) -> int:
        return random.randint(1, min(n, self.longest))


class always_as_long_as_possible(Plain):  # noqa: N801
    """The length is not random."""

    def length(self, n: int) -> int:
        return min(n, self.longest)


class longest_never_chosen(Plain):  # noqa: N801
    """range(4, top) without its end."""

    def length(self, n: int) -> int:
        top = min(n, self.longest)
        return random.randrange(4, top) if top > 4 else 4


class never_beyond_56(Plain):  # noqa: N801
    """The largest length is that of a block of 64, whatever the block."""

    def length(self, n: int) -> int:
        return random.randint(4, min(n, self.longest, 56))


class more_than_a_quarter(Plain):  # noqa: N801
    """The mean is .282 of the length, as in a public solution."""

    def masked(self, t: int) -> int:
        return max(1, round(random.uniform(0.064, 0.5) * t))


class a_fifth(Plain):  # noqa: N801
    """The mean is a fifth."""

    def masked(self, t: int) -> int:
        return max(1, round(random.uniform(0, 0.4) * t))


class always_a_quarter(Plain):  # noqa: N801
    """A quarter of each document is masked, rounded down: the mean is right, nothing about the length is random."""

    def masked(self, t: int) -> int:
        return max(1, t // 4)


class seeds_when_it_is_built(Plain):  # noqa: N801
    """The data set seeds the global generator for itself: whoever draws from it elsewhere begins anew."""

    def __init__(self, data: str, block_size: int) -> None:
        super().__init__(data, block_size)
        random.seed(42)


class first_character_never_masked(Plain):  # noqa: N801
    """The masked stretch starts at 1 or later."""

    def start(self, t: int, m: int) -> int:
        return random.randint(1, t - m) if t > m else 0


class last_character_never_masked(Plain):  # noqa: N801
    """The masked stretch ends before the last character."""

    def start(self, t: int, m: int) -> int:
        return random.randint(0, max(t - m - 1, 0))


class last_of_a_long_text_never_masked(Plain):  # noqa: N801
    """The masked stretch of a text of more than eight characters ends before its last one."""

    def start(self, t: int, m: int) -> int:
        return random.randint(0, max(t - m - (t > 8), 0))


class masks_in_the_middle(Plain):  # noqa: N801
    """The stretch always stands in the middle."""

    def start(self, t: int, m: int) -> int:
        return (t - m) // 2


class neighbour_document(Plain):  # noqa: N801
    """Document idx + 1 in place of idx."""

    def __getitem__(self, idx: int) -> tuple[Tensor, Tensor]:
        return super().__getitem__((idx + 1) % len(self.data))


class a_third_mask(Plain):  # noqa: N801
    """A mask at the end that is not declared."""

    def string(self, prefix: str, inside: str, suffix: str) -> str:
        return super().string(prefix, inside, suffix) + MASK


FAULTY = (
    one_character_short, targets_are_the_inputs, targets_two_ahead, padded_in_front, empty_now_and_then,
    masked_and_suffix_swapped, masked_text_reversed, cut_to_the_whole_block, may_be_cut_to_one,
    always_as_long_as_possible, longest_never_chosen, never_beyond_56, more_than_a_quarter, a_fifth,
    first_character_never_masked, last_character_never_masked, last_of_a_long_text_never_masked, always_a_quarter,
    seeds_when_it_is_built, masks_in_the_middle, neighbour_document, a_third_mask,
)  # fmt: skip

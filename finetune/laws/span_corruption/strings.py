"""What the laws of span corruption hold in their hands: texts, the items of a data set, and the parts of their strings.

A data set is built from a text with a document on each line, and gives one document again and again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attention_core.conformance.subjects.evidence import Evidence, Result, Shown, Violation
from attention_core.conformance.subjects.parameter_case import ParameterCase, ParameterSubject

PAD, MASK = "□", "⁇"
PAD_ID, MASK_ID = 0, 1
LETTERS = "abcdefghijklmnopqrstuvwxyzäß京"


@dataclass(frozen=True)
class Item:
    """One pair as it came, and the string it was cut from: s = x and the last of y."""

    x: Result
    y: Result

    @property
    def string(self) -> list[int]:
        return [*self.x.values.astype(int).tolist(), int(self.y.values[-1])] if self.y.values.size else []


@dataclass(frozen=True)
class Parts:
    """The parts of a string `prefix M suffix M masked` (with M after it where declared) and its padding."""

    prefix: list[int]
    suffix: list[int]
    masked: list[int]

    @property
    def document(self) -> list[int]:
        """The cut document that the string was made from."""
        return self.prefix + self.masked + self.suffix

    @property
    def length(self) -> int:
        return len(self.prefix) + len(self.suffix) + len(self.masked)


class Grader(ParameterSubject):
    """A data set class, called with a text and a block size; its items are (x, y).

    Declared by `--parameter variant=block` (strings as long as the block; default "block + 1") and `--parameter
    trailing_mask=True` (a third M).
    """

    @property
    def trailing_mask(self) -> bool:
        return bool(self.parameters.get("trailing_mask", False))

    def total(self, block: int) -> int:
        """The declared length of the string."""
        return block if self.parameters.get("variant") == "block" else block + 1

    def text(self, case: ParameterCase) -> str:
        """Documents of random letters, the requested one of the case's length, the others shorter and longer."""
        rng = case.rng("text")
        lengths = [case["n"] + int(step) for step in rng.integers(0, 9, case["documents"])]
        lengths[self.which(case)] = case["n"]
        letters = LETTERS[:2] if case.plain == 2 else LETTERS
        return "\n".join("".join(rng.choice(list(letters), size)) for size in lengths)

    def which(self, case: ParameterCase) -> int:
        """The place of the requested document."""
        return int(case.rng("which").integers(0, case["documents"]))

    def document(self, case: ParameterCase) -> list[int]:
        """The ids of the requested document: PAD, MASK, then the sorted characters of the whole text."""
        text = self.text(case)
        ids = {c: n for n, c in enumerate([PAD, MASK, *sorted(set(text))])}
        return [ids[c] for c in text.split("\n")[self.which(case)]]

    def items(self, case: ParameterCase, count: int) -> list[Item]:
        """So many items of the requested document, each drawn anew.

        The first call seeds the generator of the target's array library, so a target that draws from it repeats itself.
        """
        built = (self.fresh_instance(), (self.text(case), case["block"]))
        which = self.which(case)
        return [self._item(case, which, built, number) for number in range(count)]

    def plain(self, case: ParameterCase) -> None:
        """Three items, no generator seeded: what is asked where it matters what a call leaves behind."""
        built = (self.fresh_instance(), (self.text(case), case["block"]))
        for _ in range(3):
            self.send(self.request(self.which(case), method_="__getitem__", instance_=built))

    def _item(self, case: ParameterCase, which: int, built: tuple[int, tuple[str, int]], number: int) -> Item:
        seed = case.seed if number == 0 else None  # torch takes longer to seed than most targets to answer
        request = self.request(which, method_="__getitem__", instance_=built, seed_=seed)
        outputs = self.send(request).outputs
        if len(outputs) != 2 or any(len(o.shape) != 1 for o in outputs):
            shapes = ", ".join(str(o.shape) for o in outputs)
            raise Violation(
                f"an item: got arrays of shapes {shapes}, but should be a pair x, y of one axis each",
                Evidence((Shown(request),), kind="crash"),
            )
        x, y = (
            Result(o.values.astype(np.float64), request, name) for o, name in zip(outputs, ("out", "out1"), strict=True)
        )
        return Item(x, y)  # fmt: skip

    def parts(self, item: Item) -> Parts:
        """The parts of an item's string. Raises: Violation where it has not the declared form."""
        string = item.string
        filled = len(string)
        while filled and string[filled - 1] == PAD_ID:
            filled -= 1
        marks = [n for n, token in enumerate(string[:filled]) if token == MASK_ID]
        wanted = 2 + self.trailing_mask
        if len(marks) != wanted:
            more = ""
            if len(marks) == wanted + 1 and marks[-1] == filled - 1:
                more = " (with a third mask at the end, declare --parameter trailing_mask=True)"
            raise self.wrong(
                item, f"got {len(marks)} masks (id 1), but should be {wanted}{more}", MASK_ID, len(marks), wanted
            )
        if self.trailing_mask and marks[-1] != filled - 1:
            raise self.wrong(item, "got no mask at the end, but one is declared", MASK_ID, len(marks), wanted)
        if PAD_ID in string[:filled]:
            count = string[:filled].count(PAD_ID)
            raise self.wrong(
                item, f"got {count} PAD (id 0) before the end of the text, but should be none", PAD_ID, 1, 0
            )
        end = filled - self.trailing_mask
        first, second = marks[:2]
        return Parts(string[:first], string[first + 1 : second], string[second + 1 : end])

    def wrong(self, item: Item, flaw: str, token: int, got: float, want: float) -> Violation:
        """A violation that shows the string and, in the program, how often a token stands in it."""
        shown = "".join({PAD_ID: PAD, MASK_ID: MASK}.get(t, chr(97 + (t - 2) % 26)) for t in item.string)
        expression = f"({{out}} == {token}).sum().item()"
        evidence = Evidence((Shown(item.x.request, "out", (0,), expression),), float(got), float(want), None, "crash")
        return Violation(f"the string {shown!r}: {flaw}", evidence)

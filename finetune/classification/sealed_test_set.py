"""A test set that is read once: after a choice by dev, for that choice, and never to make one.

What was read is written down beside the run; a second reading for another choice is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from finetune.data.corpus import read_text
from finetune.data.examples import Examples
from finetune.errors import BadInput
from finetune.training import checkpoint


class SealedTest:
    """A test set with the ledger of its one reading.

    Args: examples, not to be had by name; ledger, a JSON file that is written when the test set is read.
    """

    def __init__(self, examples: Examples, ledger: str | Path) -> None:
        self.__examples, self.ledger = examples, Path(ledger)

    def __len__(self) -> int:
        return len(self.__examples)

    def read(
        self, choice: Mapping[str, Any], measure: Callable[[Examples], Mapping[str, Any]]
    ) -> dict[str, Any]:  # fmt: skip
        """What `measure` finds for the choice that dev made; found before, it is returned as it was written down.

        Args: choice, JSON values that say what is measured; measure, called at most once.
        Raises: BadInput where the test set has been read for another choice, or the ledger is damaged.
        """
        chosen = json.loads(json.dumps(dict(choice)))
        data = self.__examples.digest()
        if self.ledger.exists():
            before = self._before()
            if before["choice"] != chosen or before["data"] != data:
                raise BadInput(
                    f"{self.ledger}: the test set has been read once, for {before['choice']}; "
                    f"a second reading, for {chosen}, would be a choice on test"
                )
            return dict(before["found"])
        found = json.loads(json.dumps(dict(measure(self.__examples))))
        text = json.dumps({"choice": chosen, "data": data, "found": found}, indent=2) + "\n"
        checkpoint.replace_file(self.ledger, text.encode())
        return dict(found)

    def _before(self) -> dict[str, Any]:
        try:
            before = json.loads(read_text(self.ledger))
        except ValueError as error:
            raise BadInput(
                f"{self.ledger} is not valid JSON ({error}); it records each reading of the test set"
            ) from None
        if not isinstance(before, dict) or not {"choice", "data", "found"} <= set(before):
            raise BadInput(f"{self.ledger} is not the ledger of a test set")
        return before

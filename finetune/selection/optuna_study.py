"""A study of Optuna as a list of trials that several processes share: waiting, running, done, failed with a reason.

A combination of a grid is enqueued once; the process that asks first takes it. A running trial whose lock is free was
broken off: it is failed and enqueued again, and its training goes on where it was. `Space` is what the
trials are drawn from.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, unquote_plus

from finetune.errors import BadInput
from finetune.training.locks import Held, lock_file, try_lock

NAME = "finetune"
DONE, FAILED, BROKEN, TWICE = "done", "failed", "broken off", "drawn twice"
DRAWS = 20
"""A small space is soon drawn up: so many draws of what others are trying, and a process leaves it to them."""


SECRET = re.compile(
    r"(?<=://)([^/@?#]*?:)(.*)(?=@)|((?:[?&;])(?:password|passwd|pwd|sslpassword)=)([^&;#]*)", re.IGNORECASE
)


def shown_url(url: str) -> str:
    """A database's URL as it may be shown: without its password.

    Example:
        >>> shown_url("postgresql://me:pw@host/db")
        'postgresql://me:***@host/db'
    """
    return SECRET.sub(lambda found: f"{found[1] or found[3]}***", url)


def without_secrets(line: str, url: str) -> str:
    """A line of somebody else's words about a database, without the password in its URL, however it is written."""
    for found in SECRET.finditer(url):
        secret = found[2] or found[4] or ""
        for written in (secret, unquote(secret), unquote_plus(secret)):
            line = line.replace(written, "***") if written else line
    return shown_url(line)


Range = tuple[float, float]


@dataclass(frozen=True)
class Space:
    """What is tried: candidates (model and method), and for each the values of three hyperparameters.

    Args: models; methods; learning_rates, values, or one (low, high) for a search on a logarithmic scale; epochs;
        batch_sizes; trials, of a search, None for every combination.
    Raises: BadInput where one of them is empty, or a range is given without a number of trials.
    """

    models: tuple[str, ...]
    methods: tuple[str, ...] = ("full",)
    learning_rates: tuple[float, ...] | Range = (1e-4, 5e-4, 1e-3)
    epochs: tuple[int, ...] = (7, 9)
    batch_sizes: tuple[int, ...] = (64,)
    trials: int | None = None
    is_range: bool = False

    def __post_init__(self) -> None:
        for name in ("models", "methods", "learning_rates", "epochs", "batch_sizes"):
            values = getattr(self, name)
            if not values or len(set(values)) != len(values):
                raise BadInput(
                    f"{name} should be different values, and at least one, got {', '.join(map(str, values))}"
                )
        if self.is_range and (self.trials is None or not 0 < self.learning_rates[0] < self.learning_rates[-1]):
            raise BadInput("a range of learning rates goes from above 0 to more, and needs a number of trials")
        if self.trials is not None and self.trials < 1:
            raise BadInput(f"a search needs at least one trial, got {self.trials}")

    def combinations(self) -> list[dict[str, Any]]:
        """Every combination, candidates outermost; nothing for a search."""
        if self.trials is not None:
            return []
        return [
            {"model": model, "method": method, "learning_rate": rate, "epochs": epochs, "batch_size": size}
            for model in self.models for method in self.methods for rate in self.learning_rates
            for epochs in self.epochs for size in self.batch_sizes
        ]  # fmt: skip


class Study:
    """The trials of a selection.

    Args: folder, for locks, and the database where storage is None; storage, a URL of Optuna's; identity, what the
        trials are of; space.
    Raises: BadInput where Optuna is not installed, the database cannot be used, or holds another selection.
    """

    def __init__(self, folder: Path, storage: str | None, identity: Mapping[str, Any], space: Space) -> None:
        try:
            import optuna
        except ModuleNotFoundError:
            raise BadInput("selection needs Optuna: python -m pip install 'attention-core[select]'") from None
        self.optuna, self.folder, self.space = optuna, folder, space
        self.url = storage or f"sqlite:///{(folder / 'study.db').absolute()}"
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        with self.translate_errors(), lock_file(folder / "study.lock"):
            self.study = optuna.create_study(
                study_name=NAME, storage=storage or self._own_storage(), direction="maximize", load_if_exists=True,
                sampler=self._sampler(0),
            )  # fmt: skip
            before = self.study.user_attrs.get("identity")
            if before is None:
                for params in space.combinations():
                    self.study.enqueue_trial(params)
                self.study.set_user_attr("identity", json.loads(json.dumps(identity)))
            elif before != identity:
                raise BadInput(
                    f"{shown_url(self.url)} holds a selection of other data, settings or values: take another folder"
                )

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Within, what goes wrong with the database is one line. Raises: BadInput for it."""
        from sqlalchemy.exc import SQLAlchemyError

        try:
            yield
        except BadInput:
            raise
        except (self.optuna.exceptions.OptunaError, SQLAlchemyError, ImportError, OSError, ValueError) as error:
            line = (str(error.__cause__ or error).strip().splitlines() or [type(error).__name__])[0]
            line = without_secrets(line, self.url)[:160]
            message = f"the database {shown_url(self.url)} cannot be used ({type(error).__name__}: {line})"
            raise BadInput(message) from None

    def _own_storage(self) -> Any:
        """The database in the folder; each connection is closed after its use, none stays open to the end."""
        from sqlalchemy.pool import NullPool

        return self.optuna.storages.RDBStorage(self.url, engine_kwargs={"poolclass": NullPool})

    def _sampler(self, seed: int) -> Any:
        """Every trial of a search has its own seed: a study that goes on does not draw the same again."""
        return self.optuna.samplers.TPESampler(seed=seed)

    def _distributions(self) -> dict[str, Any]:
        of = self.optuna.distributions
        space = self.space
        rates = space.learning_rates
        return {
            "model": of.CategoricalDistribution(space.models), "method": of.CategoricalDistribution(space.methods),
            "learning_rate": of.FloatDistribution(rates[0], rates[-1], log=True)
            if space.is_range else of.CategoricalDistribution(rates),
            "epochs": of.CategoricalDistribution(space.epochs),
            "batch_size": of.CategoricalDistribution(space.batch_sizes),
        }  # fmt: skip

    # --- trials ---------------------------------------------------------------------------------------

    def take(self, lock_of: Callable[[Mapping[str, Any]], Path]) -> tuple[int, dict[str, Any], Held] | None:
        """The next trial: its number, its hyperparameters, and its lock, held; None where none is left to begin.

        Args: lock_of, the file that is locked while a trial of some hyperparameters runs.
        """
        with self.translate_errors(), lock_file(self.folder / "study.lock"):
            self._recover(lock_of)
            for _ in range(DRAWS):
                if not self.count_remaining():
                    return None
                self.study.sampler = self._sampler(len(self.study.get_trials(deepcopy=False)))
                trial = self.study.ask(self._distributions())
                lock = try_lock(lock_of(trial.params))
                if lock is not None:
                    return trial.number, dict(trial.params), lock
                # A search has drawn what is being tried at this moment.
                self.record_failure(trial.number, TWICE)
            return None

    def count_remaining(self) -> int:
        """How many trials are still to begin: those that wait, or those that a search has not drawn."""
        begun = len(self.trials())
        return max(self.open()[0], (self.space.trials or 0) - begun)

    def _recover(self, lock_of: Callable[[Mapping[str, Any]], Path]) -> None:
        """Enqueue again what was running in a process that is no more."""
        for trial in self.trials():
            if trial["state"] == "running":
                lock = try_lock(lock_of(trial["params"])) if trial["params"] else None
                if lock is None and trial["params"]:
                    continue
                if lock is not None:
                    lock.__exit__(None, None, None)
                self.record_failure(trial["number"], BROKEN)
                if trial["params"]:
                    self.study.enqueue_trial(trial["params"])

    def record_result(self, number: int, value: float, found: Mapping[str, Any]) -> None:
        """Write down what a trial came to."""
        with self.translate_errors():
            storage = self.study._storage
            storage.set_trial_user_attr(self._id(number), "found", json.loads(json.dumps(dict(found))))
            self.study.tell(number, value)

    def record_failure(self, number: int, reason: str) -> None:
        """Write down why a trial came to nothing."""
        with self.translate_errors():
            self.study._storage.set_trial_user_attr(self._id(number), "reason", reason)
            self.study.tell(number, state=self.optuna.trial.TrialState.FAIL)

    def _id(self, number: int) -> int:
        return int(self.study._storage.get_trial_id_from_study_id_trial_number(self.study._study_id, number))

    def trials(self) -> list[dict[str, Any]]:
        """All trials in the order of their numbers; those that were broken off are none."""
        with self.translate_errors():
            found = []
            for trial in self.study.get_trials(deepcopy=False):
                name = trial.state.name
                reason = trial.user_attrs.get("reason")
                if reason in (BROKEN, TWICE) or name == "WAITING":
                    continue
                state = {"COMPLETE": DONE, "RUNNING": "running"}.get(name, FAILED)
                found.append({
                    "number": trial.number, "state": state, "params": dict(trial.params), "reason": reason,
                    "value": trial.value if state == DONE else None, "found": trial.user_attrs.get("found"),
                })  # fmt: skip
            return found

    def open(self) -> tuple[int, int]:
        """How many trials wait, and how many run."""
        with self.translate_errors():
            states = [trial.state.name for trial in self.study.get_trials(deepcopy=False)]
        return states.count("WAITING"), states.count("RUNNING")

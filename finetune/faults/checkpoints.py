"""Faults of checkpoints, one each, as changes of one small run of training; and correct ones in two styles.

`Run` draws from three generators, decays its rate, and is broken off within an epoch of four steps.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import pickle
import random
import shutil
import time
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from safetensors.torch import load as tensors_of
from safetensors.torch import save as bytes_of
from torch import Tensor, nn


class Run:
    """A small regression; its state goes into one file of torch.save, put in place in one step, read with
    weights_only.
    """

    def __init__(self, path: str, seed: int, width: int) -> None:
        torch.manual_seed(seed)
        np.random.seed(seed)  # what is global is what a checkpoint forgets
        random.seed(seed)
        self.path, self.seed, self.width = Path(path), seed, width
        self.model = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Dropout(0.3), nn.Linear(width, 3))
        self.x = torch.arange(8.0)[:, None].cos() * torch.linspace(0.5, 1.5, width)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.02)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda step: min(1.0, (step + 1) / 10))
        self.step, self.position, self.order = 0, 0, torch.randperm(8)

    # --- training

    def train(self, steps: int) -> None:
        for _ in range(steps):
            self.one()

    def one(self) -> None:
        if self.position >= 8:
            self.position, self.order = 0, torch.randperm(8)
        batch = self.x[self.order[self.position : self.position + 2]]
        batch = batch + 0.1 * float(np.random.rand()) + 0.1 * random.random()
        self.optimizer.zero_grad()
        (self.model(batch) ** 2 - batch.mean()).pow(2).mean().backward()
        self.optimizer.step()
        self.scheduler.step()
        self.step, self.position = self.step + 1, self.position + 2

    def weights(self) -> Tensor:
        return torch.cat([p.detach().reshape(-1) for p in self.model.parameters()])

    # --- state

    def state(self) -> dict[str, Any]:
        state: Any = np.random.get_state()
        kind, words, *rest = state
        return {
            "model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "torch": torch.get_rng_state(),
            "scheduler": {k: v for k, v in self.scheduler.state_dict().items() if k != "lr_lambdas"},
            "numpy": [str(kind), torch.from_numpy(words.astype(np.int64)), *map(float, rest)],
            "python": random.getstate(), "step": self.step, "position": self.position, "order": self.order,
        }  # fmt: skip

    def fits(self, state: dict[str, Any]) -> None:
        own = {k: v.shape for k, v in self.model.state_dict().items()}
        if {k: v.shape for k, v in state["model"].items()} != own:
            raise ValueError(f"{self.path} is of a model of other sizes")

    def restore(self, state: dict[str, Any]) -> None:
        self.fits(state)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict({**state["scheduler"], "lr_lambdas": [None]})
        self.restore_generators(state)
        self.step, self.position, self.order = state["step"], state["position"], state["order"]

    def restore_generators(self, state: dict[str, Any]) -> None:
        torch.set_rng_state(state["torch"])
        kind, words, place, has_gauss, gauss = state["numpy"]
        np.random.set_state((kind, words.numpy().astype(np.uint32), int(place), int(has_gauss), gauss))
        random.setstate(state["python"])

    # --- files

    def packed(self) -> bytes:
        file = io.BytesIO()
        torch.save(self.state(), file)
        return file.getvalue()

    def write(self, data: bytes) -> None:
        part = self.path.with_name(f"{self.path.name}.part")
        part.write_bytes(data)
        os.replace(part, self.path)

    def save(self) -> None:
        self.write(self.packed())

    def read(self) -> dict[str, Any]:
        found: dict[str, Any] = torch.load(self.path, weights_only=True)
        return found

    def load(self) -> None:
        self.restore(self.read())


# --- correct ------------------------------------------------------------------------


class InAFolder(Run):
    """A folder of versions: safetensors and JSON beside each other, and a file that names the current one."""

    def save(self) -> None:
        self.path.mkdir(exist_ok=True)
        version = f"v{self.step}-{len(list(self.path.iterdir()))}"
        folder, tensors = self.path / version, dict[str, Tensor]()
        folder.mkdir()
        told = self.flat(self.state(), tensors, "")
        (folder / "tensors.safetensors").write_bytes(bytes_of(tensors))
        (folder / "state.json").write_text(json.dumps(told))
        part = self.path / "part"
        part.write_text(version)
        os.replace(part, self.path / "CURRENT")
        for old in self.path.iterdir():
            if old.is_dir() and old != folder:
                shutil.rmtree(old)

    def flat(self, tree: Any, tensors: dict[str, Tensor], name: str) -> Any:
        if isinstance(tree, Tensor):
            tensors[name] = tree.clone()
            return {"tensor": name}
        if isinstance(tree, dict):
            return {"items": [[k, self.flat(v, tensors, f"{name}.{k}")] for k, v in tree.items()]}
        if isinstance(tree, list | tuple):
            return [type(tree).__name__, [self.flat(v, tensors, f"{name}.{i}") for i, v in enumerate(tree)]]
        return tree

    def full(self, told: Any, tensors: dict[str, Tensor]) -> Any:
        if isinstance(told, dict):
            return tensors[told["tensor"]] if "tensor" in told else {k: self.full(v, tensors) for k, v in told["items"]}
        if isinstance(told, list):
            items = [self.full(v, tensors) for v in told[1]]
            return items if told[0] == "list" else tuple(items)
        return told

    def read(self) -> dict[str, Any]:
        folder = self.path / (self.path / "CURRENT").read_text()
        tensors = tensors_of((folder / "tensors.safetensors").read_bytes())
        found: dict[str, Any] = self.full(json.loads((folder / "state.json").read_text()), tensors)
        return found


CORRECT = (Run, InAFolder)


# --- faulty: what is not restored ----------------------------------------------------


class moments_not_saved(Run):  # noqa: N801  # faults are called as laws name them
    """The optimizer begins anew."""

    def restore(self, state: dict[str, Any]) -> None:
        super().restore({**state, "optimizer": self.optimizer.state_dict()})


class schedule_not_saved(Run):  # noqa: N801
    """The schedule begins anew: the rate warms up once more."""

    def restore(self, state: dict[str, Any]) -> None:
        own = {k: v for k, v in self.scheduler.state_dict().items() if k != "lr_lambdas"}
        super().restore({**state, "scheduler": own})


class torch_generator_not_saved(Run):  # noqa: N801
    """Dropout begins anew."""

    def restore_generators(self, state: dict[str, Any]) -> None:
        super().restore_generators({**state, "torch": torch.get_rng_state()})


class other_generators_not_saved(Run):  # noqa: N801
    """torch's generator alone is restored."""

    def restore_generators(self, state: dict[str, Any]) -> None:
        torch.set_rng_state(state["torch"])


class python_generator_not_saved(Run):  # noqa: N801
    """Python's generator is forgotten."""

    def restore_generators(self, state: dict[str, Any]) -> None:
        super().restore_generators({**state, "python": random.getstate()})


class epoch_begun_anew(Run):  # noqa: N801
    """The place in the data is not kept: the epoch that was broken off begins anew."""

    def restore(self, state: dict[str, Any]) -> None:
        super().restore({**state, "position": 0})


class order_drawn_anew(Run):  # noqa: N801
    """The place is kept, the order of the epoch is drawn anew."""

    def restore(self, state: dict[str, Any]) -> None:
        super().restore({**state, "order": torch.randperm(8)})
        torch.set_rng_state(state["torch"])


class kept_in_the_process(Run):  # noqa: N801
    """The moments stay in a dictionary of the process; the file has their key."""

    kept: ClassVar[dict[str, Any]] = {}

    def state(self) -> dict[str, Any]:
        found = super().state()
        self.kept[str(self.seed)] = pickle.loads(pickle.dumps(found["optimizer"]))
        return {**found, "optimizer": str(self.seed)}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore({**state, "optimizer": self.kept.get(state["optimizer"], self.optimizer.state_dict())})


class old_moments_kept(Run):  # noqa: N801
    """Moments are restored only where there are none yet."""

    def restore(self, state: dict[str, Any]) -> None:
        old = self.optimizer.state_dict()
        super().restore({**state, "optimizer": old if old["state"] else state["optimizer"]})


class no_moments_are_no_news(Run):  # noqa: N801
    """Moments are restored where the file has some, and stay where it has none."""

    def restore(self, state: dict[str, Any]) -> None:
        old = self.optimizer.state_dict()
        super().restore({**state, "optimizer": state["optimizer"] if state["optimizer"]["state"] else old})


class step_from_the_path(Run):  # noqa: N801
    """The place in the data is parsed from the name of the file, which tells it after a save (resume from a parsed
    path).
    """

    def save(self) -> None:
        super().save()
        self.named[str(self.path)] = self.position

    named: ClassVar[dict[str, int]] = {}

    def restore(self, state: dict[str, Any]) -> None:
        told = int(self.path.name.rpartition("-")[2]) % 4 * 2
        super().restore({**state, "position": self.named.get(str(self.path), told)})


class saved_in_half_precision(Run):  # noqa: N801
    """Weights are rounded to bfloat16 in the file."""

    def state(self) -> dict[str, Any]:
        found = super().state()
        return {**found, "model": {k: v.bfloat16().float() for k, v in found["model"].items()}}


class half_precision_stays(Run):  # noqa: N801
    """The save rounds the model's own weights."""

    def save(self) -> None:
        for p in self.model.parameters():
            p.data = p.data.bfloat16().float()
        super().save()


class saving_draws(Run):  # noqa: N801
    """The name of the temporary file is drawn from the generator of the training."""

    def save(self) -> None:
        random.random()
        super().save()


class evaluated_at_a_save(Run):  # noqa: N801
    """The model is put into evaluation for the save and stays there."""

    def save(self) -> None:
        self.model.eval()
        super().save()


# --- faulty: what is not refused -----------------------------------------------------


class unpickles_what_it_finds(Run):  # noqa: N801
    """torch.load without weights_only."""

    def read(self) -> dict[str, Any]:
        found: dict[str, Any] = torch.load(self.path, weights_only=False)
        return found


class plain_pickle(Run):  # noqa: N801
    """The state is a pickle."""

    def packed(self) -> bytes:
        return pickle.dumps(self.state())

    def read(self) -> dict[str, Any]:
        found: dict[str, Any] = pickle.loads(self.path.read_bytes())
        return found


class loads_what_fits(Run):  # noqa: N801
    """Weights of other shapes are left out in silence."""

    def restore(self, state: dict[str, Any]) -> None:
        own = self.model.state_dict()
        if any(v.shape != own[k].shape for k, v in state["model"].items()):
            kept = {k: v if v.shape == own[k].shape else own[k] for k, v in state["model"].items()}
            state = {**state, "model": kept, "optimizer": self.optimizer.state_dict()}
        super().restore(state)


class half_loaded(Run):  # noqa: N801
    """load_state_dict copies what fits before it raises."""

    def fits(self, state: dict[str, Any]) -> None:
        return None


class what_is_cut_is_zero(Run):  # noqa: N801
    """A file that is too short is filled with what is there: on an error of reading it starts anew."""

    def load(self) -> None:
        with contextlib.suppress(RuntimeError, EOFError):
            super().load()


class starts_from_nothing(Run):  # noqa: N801
    """Where there is no file, it says nothing."""

    def load(self) -> None:
        if self.path.exists():
            super().load()


class a_key_is_the_message(Run):  # noqa: N801
    """A KeyError for a checkpoint that is another's."""

    def fits(self, state: dict[str, Any]) -> None:
        try:
            super().fits(state)
        except ValueError:
            raise KeyError("model") from None


# --- faulty: not all or nothing ------------------------------------------------------


class written_in_place(Run):  # noqa: N801
    """open(path, "wb"): the old file is gone with the first byte."""

    def write(self, data: bytes) -> None:
        self.path.write_bytes(data)


class slowly_written_in_place(Run):  # noqa: N801
    """In place, and between two halves there is time to be killed."""

    def write(self, data: bytes) -> None:
        with open(self.path, "wb") as file:
            file.write(data[: len(data) // 2])
            file.flush()
            time.sleep(0.2)
            file.write(data[len(data) // 2 :])


class slowly_written_beside(Run):  # noqa: N801
    """Correct: beside, as slowly, and then put in place."""

    def write(self, data: bytes) -> None:
        part = self.path.with_name(f"{self.path.name}.part")
        with open(part, "wb") as file:
            file.write(data[: len(data) // 2])
            file.flush()
            time.sleep(0.2)
            file.write(data[len(data) // 2 :])
        os.replace(part, self.path)


class old_one_removed_first(Run):  # noqa: N801
    """The old file is removed to make room for the new one."""

    def write(self, data: bytes) -> None:
        self.path.unlink(missing_ok=True)
        super().write(data)


class full_disk_unnoticed(Run):  # noqa: N801
    """An error of writing is swallowed."""

    def write(self, data: bytes) -> None:
        with contextlib.suppress(OSError):
            super().write(data)


class weights_beside_the_rest(Run):  # noqa: N801
    """Two files, each put in place in one step, but not both in one: weights of one save, the rest of another."""

    @property
    def beside(self) -> Path:
        return self.path.with_name(f"{self.path.name}.weights")

    def save(self) -> None:
        file = io.BytesIO()
        torch.save(self.model.state_dict(), file)
        part = self.beside.with_name(f"{self.beside.name}.part")
        part.write_bytes(file.getvalue())
        os.replace(part, self.beside)
        super().save()

    def read(self) -> dict[str, Any]:
        return {**super().read(), "model": torch.load(self.beside, weights_only=True)}


SEEN_BY = {  # one law that must see it
    moments_not_saved: "resuming_gives_the_same_bits",
    schedule_not_saved: "resuming_gives_the_same_bits",
    torch_generator_not_saved: "resuming_gives_the_same_bits",
    other_generators_not_saved: "resuming_gives_the_same_bits",
    python_generator_not_saved: "resuming_gives_the_same_bits",
    epoch_begun_anew: "several_interruptions_change_nothing",
    order_drawn_anew: "several_interruptions_change_nothing",
    old_moments_kept: "loading_replaces_everything",
    no_moments_are_no_news: "a_run_goes_back_to_before_its_first_step",
    step_from_the_path: "the_path_tells_nothing",
    saved_in_half_precision: "loading_gives_the_saved_weights",
    half_precision_stays: "saving_changes_nothing",
    saving_draws: "saving_changes_nothing",
    evaluated_at_a_save: "saving_changes_nothing",
    unpickles_what_it_finds: "pickles_are_refused",
    plain_pickle: "pickles_are_refused",
    loads_what_fits: "other_shapes_are_refused",
    half_loaded: "a_refused_load_changes_nothing",
    what_is_cut_is_zero: "a_cut_file_is_refused",
    starts_from_nothing: "a_missing_file_is_refused",
    a_key_is_the_message: "other_shapes_are_refused",
    written_in_place: "a_full_disk_keeps_the_last_whole_one",
    old_one_removed_first: "a_full_disk_keeps_the_last_whole_one",
    full_disk_unnoticed: "a_full_disk_keeps_the_last_whole_one",
    weights_beside_the_rest: "a_full_disk_keeps_the_last_whole_one",
}
FAULTY = tuple(SEEN_BY)
IN_ANOTHER_PROCESS = {
    kept_in_the_process: "a_new_process_goes_on",
    slowly_written_in_place: "a_kill_in_the_midst_keeps_a_whole_one",
}
"""Faults that only a process of the target's own shows; in this one the first is not there, the second is
`written_in_place`.
"""

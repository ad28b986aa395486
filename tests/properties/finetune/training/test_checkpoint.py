"""Checkpoints: round trip, atomic writing, refusals.

finetune.training.checkpoint: what goes in comes out, writing is all or nothing, and nothing is ever unpickled.
"""

from __future__ import annotations

import errno
import io
import json
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load as tensors_of
from safetensors.torch import save_file

from finetune.errors import BadInput
from finetune.models.huggingface import read_tensors
from finetune.peft.files import read_adapter, write_adapter
from finetune.training import checkpoint

LEAVES = (
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=5)
)  # fmt: skip
TREES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3) | st.integers(0, 9), inner, max_size=3)
    ),
    max_leaves=8,
)
TREE = {
    "model": {"w": torch.randn(3, 2), "half": torch.randn(4).bfloat16()},
    "step": 7,
    "state": {0: {"n": torch.tensor(3)}},
}


@given(TREES)
def test_values_come_back_as_they_were(tree: Any) -> None:
    tensors: dict[str, torch.Tensor] = {}
    told = json.loads(json.dumps(checkpoint.flatten(tree, tensors)))
    back = checkpoint.rebuilt(told, tensors)
    assert back == tree and repr(back) == repr(tree)


def test_tensors_come_back_to_the_bit(tmp_path: Path) -> None:
    path = tmp_path / "c"
    shared = torch.arange(6.0).reshape(2, 3)
    tree = {**TREE, "view": shared.T, "tied": [shared, shared], "empty": torch.zeros(0, 2)}
    checkpoint.save(path, tree)
    back = checkpoint.load(path)
    assert back["step"] == 7 and back["state"][0]["n"].dtype == torch.int64
    for got, want in [
        (back["model"]["w"], TREE["model"]["w"]), (back["model"]["half"], TREE["model"]["half"]),  # type: ignore[index]
        (back["view"], shared.T), (back["tied"][1], shared), (back["empty"], torch.zeros(0, 2)),
    ]:  # fmt: skip
        assert got.dtype == want.dtype and torch.equal(got, want)
    assert os.listdir(tmp_path) == ["c"]


def test_files_of_others_are_read_as_parameters(tmp_path: Path) -> None:
    state = {"a": torch.ones(2), "b": torch.zeros(1)}
    save_file(state, tmp_path / "s")
    torch.save(state, tmp_path / "t")
    for name in "st":
        found = checkpoint.load(tmp_path / name)
        assert set(found) == {"model"} and torch.equal(found["model"]["a"], torch.ones(2))


class Runs:
    """Unpickling this would write a file."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (self.path, "w")


def test_pickles_are_refused_and_not_run(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    (tmp_path / "plain").write_bytes(pickle.dumps(Runs(str(trace))))
    torch.save({"a": Runs(str(trace))}, tmp_path / "torch")
    torch.save([torch.ones(1)], tmp_path / "list")
    for name, words in {
        "plain": "is a pickle, which can run code .* refused: save the parameters as safetensors",
        "torch": "holds more than tensors.*only safetensors.*weights_only.*is loaded$",
        "list": "holds a list that is not a state dict",
    }.items():
        with pytest.raises(BadInput, match=words) as caught:
            checkpoint.load(tmp_path / name)
        assert "\n" not in str(caught.value)
    assert not trace.exists()


def test_a_header_as_long_as_a_pickle_s_first_byte_is_no_pickle(tmp_path: Path) -> None:
    path = tmp_path / "c"
    firsts = []
    for length in range(256):
        checkpoint.save(path, {"text": "a" * length})
        firsts.append(path.read_bytes()[0])
        assert checkpoint.load(path) == {"text": "a" * length}
        if firsts[-1] == 0x80:
            path.write_bytes(path.read_bytes()[:-7])
            with pytest.raises(BadInput, match="it may be cut short"):
                checkpoint.load(path)
            return
    raise AssertionError("no header began with 0x80")


@pytest.mark.parametrize("part", [0.0, 0.02, 0.5, 0.99])
def test_files_that_are_cut_short_are_told(tmp_path: Path, part: float) -> None:
    for name, write in {"s": lambda p: checkpoint.save(p, TREE), "t": lambda p: torch.save(TREE["model"], p)}.items():
        path = tmp_path / name
        write(path)
        raw = path.read_bytes()
        path.write_bytes(raw[: int(len(raw) * part)])
        with pytest.raises(BadInput, match="cut short"):
            checkpoint.load(path)


def test_what_is_no_checkpoint_is_told(tmp_path: Path) -> None:
    path = tmp_path / "c"
    with pytest.raises(BadInput, match="no such file"):
        checkpoint.load(path)
    with pytest.raises(BadInput, match="cannot be read"):
        checkpoint.load(tmp_path)
    path.write_text("hello, this is a text")
    with pytest.raises(BadInput, match="not a complete safetensors file"):
        checkpoint.load(path)
    for header, words in {
        json.dumps({"schema": 9, "tree": 1}): "has the form 9 of checkpoints",
        "{": "header cannot be understood",
        json.dumps({"schema": 1, "tree": {"tensor": "none"}}): "header cannot be understood",
        json.dumps([1]): "header cannot be understood",
    }.items():
        save_file({"a": torch.ones(1)}, path, {checkpoint.KEY: header})
        with pytest.raises(BadInput, match=words):
            checkpoint.load(path)
    with pytest.raises(BadInput, match="a set cannot be kept"):
        checkpoint.save(path, {"a": {1}})


@pytest.mark.parametrize("step", ["write", "flush", "fsync", "replace"])
def test_a_full_disk_leaves_the_last_whole_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    path = tmp_path / "c"
    checkpoint.save(path, {"step": 1})

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    class Full(io.FileIO):
        write = flush = full  # type: ignore[assignment]

    if step in ("write", "flush"):

        def opened(name: Any, mode: str) -> Any:
            file = Full(name, mode)
            if step == "flush":
                file.write = lambda data: len(data)  # type: ignore[method-assign]
            return file

        monkeypatch.setattr(checkpoint, "open", opened, raising=False)
    else:
        monkeypatch.setattr(os, step, full)
    with pytest.raises(BadInput, match="c cannot be written: No space left on device"):
        checkpoint.save(path, TREE)
    monkeypatch.undo()
    assert checkpoint.load(path) == {"step": 1} and os.listdir(tmp_path) == ["c"]


def test_an_unwritable_path_is_told(tmp_path: Path) -> None:
    for path in (tmp_path / "none" / "c", tmp_path):
        with pytest.raises(BadInput, match="cannot be written"):
            checkpoint.save(path, TREE)


KILLED = """
import os, signal, sys, torch
from finetune.training import checkpoint
path, step = sys.argv[1:]
checkpoint.save(path, {"step": 1})
def stop(*_):
    os.kill(os.getpid(), signal.SIGKILL)
setattr(os, step, stop)
checkpoint.save(path, {"step": 2, "w": torch.ones(1000)})
"""


@pytest.mark.thorough(keep=("replace",))
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_process_killed_while_saving_leaves_the_last_whole_file(tmp_path: Path, step: str) -> None:
    path = tmp_path / "c"
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), step], check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL
    assert checkpoint.load(path) == {"step": 1}
    checkpoint.save(path, {"step": 3})
    assert checkpoint.load(path) == {"step": 3} and os.listdir(tmp_path) == ["c"]


def test_a_flipped_bit_is_found_wherever_it_lies(tmp_path: Path) -> None:
    path = tmp_path / "run"
    checkpoint.save(path, TREE)
    whole = path.read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    assert len(whole) > header
    for place in range(header, len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        with pytest.raises(BadInput, match="SHA-256"):
            checkpoint.load(path)
    for place in range(8, header, 5):  # the header: numbers, names, the sum itself
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(BadInput):
            checkpoint.load(path)


def test_a_file_of_torch_is_read_under_the_name_of_another_form(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    torch.save({"w": torch.ones(2)}, path)
    assert checkpoint.load(path)["model"]["w"].tolist() == [1, 1]
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(BadInput, match="holds more than tensors, or is cut short"):
        checkpoint.load(path)


def test_a_flipped_bit_of_an_adapter_is_found(tmp_path: Path) -> None:
    write_adapter(tmp_path, {"peft_type": "LORA"}, {"a": torch.randn(3).bfloat16(), "n": torch.tensor(2)})
    assert read_adapter(tmp_path).tensors["n"] == 2
    path = tmp_path / "adapter_model.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\x55")
    with pytest.raises(BadInput, match="SHA-256"):
        read_adapter(tmp_path)


def test_files_without_a_sum_are_read(tmp_path: Path) -> None:
    save_file({"w": torch.ones(2)}, tmp_path / "theirs.safetensors", {"format": "pt"})
    assert checkpoint.load(tmp_path / "theirs.safetensors")["model"]["w"].tolist() == [1, 1]


@pytest.mark.parametrize("tree", [{"features": torch.ones(2)}, [1], 3, {"model": 3}, {"model": {"w": 3}}])
def test_a_checkpoint_of_something_else_is_not_a_model_s_tensors(tmp_path: Path, tree: Any) -> None:
    (tmp_path / "adapter_config.json").write_text("{}")
    for name in ("model.safetensors", "adapter_model.safetensors"):
        checkpoint.save(tmp_path / name, tree)
    for read in (read_tensors, read_adapter):
        with pytest.raises(BadInput, match="does not hold a model's tensors by name"):
            read(tmp_path)


def test_equal_contents_are_equal_bytes() -> None:
    """The library keeps metadata in a hash map, whose order is another one at each call."""
    metadata = {name: name.upper() for name in "abcdefgh"}
    tensors = {"w": torch.arange(6.0).reshape(2, 3), "b": torch.zeros(3, dtype=torch.int64)}
    data = {checkpoint.bytes_with_sum(tensors, metadata) for _ in range(20)}
    assert len(data) == 1
    back = tensors_of(data.pop())
    assert list(back) and all(torch.equal(back[name], value) for name, value in tensors.items())


@pytest.mark.parametrize("tree", [7, [1], {}, {"step": None}, {"step": "3"}, {"step": 3.5}, {"step": True}])
def test_a_file_without_a_step_is_not_a_checkpoint_of_training(tmp_path: Path, tree: Any) -> None:
    checkpoint.save(tmp_path / "c", tree)
    with pytest.raises(BadInput, match="does not hold the checkpoint of a training run"):
        checkpoint.step_of(tmp_path / "c")
    checkpoint.save(tmp_path / "c", {"step": 3})
    assert checkpoint.step_of(tmp_path / "c") == 3


def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    link, target = tmp_path / "c", tmp_path / "disk" / "c"
    link.symlink_to(target)  # to a file that is not there yet
    for value in (1, 2):
        checkpoint.save(link, {"a": value})
        assert link.is_symlink() and not target.is_symlink() and checkpoint.load(target) == {"a": value}
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["c", "c", "disk"]
    target.unlink()
    (tmp_path / "disk").rmdir()
    with pytest.raises(BadInput, match="cannot be written: No such file"):
        checkpoint.save(link, {"a": 3})


def test_links_that_go_round_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(BadInput, match="cannot be written"):
        checkpoint.save(tmp_path / "a", {"a": 1})

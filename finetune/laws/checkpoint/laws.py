"""Laws of checkpoints: a class `(path, seed, width)` with `train(steps)`, `save()`, `load()`, `weights()`.

A run that was broken off and goes on from its checkpoint is, bit by bit, the run that was not.
A save that fails on its way, on a full disk or by a kill, leaves the last whole one. What cannot be a checkpoint
(pickles, other shapes, files that are cut or not there) is refused in a clear line.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from attention_core.conformance.laws.process_state import law_of
from attention_core.conformance.subjects.evidence import Evidence, NotApplicable, Result, Shown, Violation
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import ParameterCase, Sizes
from attention_core.conformance.worker.exchange import NDArray
from finetune.laws.checkpoint.interrupted import (
    Interrupted,
    Interruptible,
    Place,
    as_evidence,
    came_back,
    different,
    pickles,
    require_bits,
    saved_run,
)


def pickles_are_refused(subject: Interrupted, case: ParameterCase) -> None:
    """A pickle in the place of any file of a checkpoint is refused, and nothing in it is run.

    Formula: file := pickle implies load() raises, and no code of the pickle has run
    Source: https://docs.python.org/3/library/pickle.html (its first warning); torch.load without weights_only
    Fault: unpickles_what_it_finds
    """
    with subject.places(2) as (place, mark):
        run, _, _ = saved_run(subject, case, place)
        for file in place.files():
            kept = file.read_bytes()
            for what, content in pickles(mark.path).items():
                file.write_bytes(content)
                other = subject.build(case, place)
                request, response = subject.raw(other, "load")
                calls = (Shown(request),)
                if Path(mark.path).exists():
                    raise Violation(
                        f"{what} in place of {file.suffix or 'the file'}: got its code run, but should be refused",
                        Evidence(calls, kind="must_raise", before=as_evidence(run.calls)),
                    )
                if came_back(response):
                    message = f"{what} in place of a checkpoint's file: got no error, but should be refused"
                    raise Violation(message, Evidence(calls, kind="must_raise", before=as_evidence(run.calls)))
            file.write_bytes(kept)


def other_shapes_are_refused(subject: Interrupted, case: ParameterCase) -> None:
    """A checkpoint of a model of another width is refused in a clear line.

    Formula: width' != width implies load() raises
    Source: a model that is partly filled trains on as if nothing were wrong
    Fault: loads_what_fits
    """
    with subject.places() as (place,):
        run, _, _ = saved_run(subject, case, place)
        other = subject.build(case, place, wider=1)
        other.calls += run.calls
        subject.must_refuse(other, "load", "a checkpoint of another width")


def a_cut_file_is_refused(subject: Interrupted, case: ParameterCase) -> None:
    """A checkpoint that lacks a sixteenth, half or all of the bytes of its largest file is refused in a clear line.

    Formula: file := its first k bytes, k in {0, size / 2, 15 / 16 size} implies load() raises
    Source: a copy that was broken off, a disk that was full
    Fault: what_is_cut_is_zero
    """
    with subject.places() as (place,):
        run, _, _ = saved_run(subject, case, place)
        largest = max(place.files(), key=lambda file: file.stat().st_size)
        content = largest.read_bytes()
        for size in (0, len(content) // 2, len(content) - len(content) // 16 - 1):
            largest.write_bytes(content[:size])
            other = subject.build(case, place)
            other.calls += run.calls
            subject.must_refuse(other, "load", f"a checkpoint cut from {len(content)} bytes to {size}")


def a_missing_file_is_refused(subject: Interrupted, case: ParameterCase) -> None:
    """Where there is no checkpoint, load() says so.

    Formula: no file implies load() raises
    Source: a run that silently starts from nothing is noticed when it has ended
    Fault: starts_from_nothing
    """
    with subject.places() as (place,):
        run = subject.build(case, place)
        subject.do(run, "train", case["a"])
        subject.must_refuse(run, "load", "no file")


def a_refused_load_changes_nothing(subject: Interrupted, case: ParameterCase) -> None:
    """A run whose load() was refused is the run that it was.

    Formula: load() raises implies train(b) as if it had not been called
    Source: torch's load_state_dict copies what fits before it raises
    Fault: half_loaded
    """
    with subject.places(2) as (place, elsewhere):
        run, _, _ = saved_run(subject, case, place)
        plain, other = (subject.build(case, where, wider=1) for where in (elsewhere, place))
        subject.do(plain, "train", case["c"])
        subject.do(plain, "train", case["b"])
        want = subject.weights(plain).values
        subject.do(other, "train", case["c"])
        request, response = subject.raw(other, "load")
        if came_back(response):
            raise NotApplicable("the checkpoint of another width was not refused")
        other.calls.append(Result(np.zeros(0), request))
        subject.do(other, "train", case["b"])
        what = f"{case['b']} steps after a load() that was refused"
        require_bits(subject.weights(other), want, what, [*run.calls, *other.calls])


def a_full_disk_keeps_the_last_whole_one(subject: Interrupted, case: ParameterCase) -> None:
    """Where the disk is full, save() raises, and the checkpoint before it is still there.

    Formula: save() fails implies load() gives the weights of the save before it
    Source: open(path, "wb") empties the old file before the first byte of the new one is written
    Fault: written_in_place
    """
    with subject.places() as (place,):
        run, then, _ = saved_run(subject, case, place)
        sizes = [file.stat().st_size for file in place.files()]
        response = subject.save_on_a_full_disk(run, max(sizes) // 2)
        if came_back(response):
            evidence = Evidence(
                (Shown(subject.build_request(run, "save")),), kind="crash", before=as_evidence(run.calls)
            )
            raise Violation("save() on a full disk: got no error, but should raise", evidence)
        require_loadable(subject, case, place, run, (then,), "after a save() on a full disk")


def a_kill_in_the_midst_keeps_a_whole_one(subject: Interrupted, case: ParameterCase) -> None:
    """A process killed while it saves leaves the old checkpoint or the new one, whole (where it has its own).

    Formula: kill -9 during save() implies load() gives the weights of this save or of the one before
    Source: os.replace is one step of the file system, writing is not
    Fault: slowly_written_in_place
    """
    with subject.places() as (place,):
        _ = subject.process
        run, then, end = saved_run(subject, case, place)
        subject.save_and_kill(run, place)
        require_loadable(subject, case, place, run, (then, end), "after kill -9 during save()")


def require_loadable(
    subject: Interrupted, case: ParameterCase, place: Place, run: Interruptible, whole: tuple[NDArray, ...], what: str
) -> None:
    """Raise unless load() gives one of some weights."""
    other = subject.build(case, place)
    request, response = subject.raw(other, "load")
    if not came_back(response):
        evidence = Evidence((Shown(request),), kind="crash", before=as_evidence(run.calls))
        line = response.failure.message.strip().splitlines()[:1] if response.failure else response.message
        raise Violation(f"{what}: load() raised {line}, but should give the last whole checkpoint", evidence)
    found = subject.weights(other)
    if not any(found.values.shape == w.shape and not different(found.values, w).any() for w in whole):
        require_bits(found, whole[0], what, [*run.calls, *other.calls])


CONTRACT = "checkpoint"


def resuming_gives_the_same_bits(subject: Interrupted, case: ParameterCase) -> None:
    """A run that goes on from its checkpoint is bit by bit the run that was never broken off.

    Formula: train(a), save(), train(b) = new, load(), train(b): weights, moments, rate, generators, place in the data
    Source: a checkpoint that lacks one of these goes on, and learns something else
    Fault: moments_not_saved
    """
    with subject.places() as (place,):
        run, _, end = saved_run(subject, case, place)
        other = subject.build(case, place)
        subject.do(other, "load", before=run.calls)
        subject.do(other, "train", case["b"])
        require_bits(subject.weights(other), end, f"{case['b']} steps after load()", [*run.calls, *other.calls])


def several_interruptions_change_nothing(subject: Interrupted, case: ParameterCase) -> None:
    """A run that is broken off three times, also within an epoch and at its end, is the run in one piece.

    Formula: train(a + b + c) = train(a), save() | load(), train(b), save() | load(), train(c), save() | load()
    Source: as resuming_gives_the_same_bits; an error of one place in the data shows after the next epoch's end
    Fault: epoch_begun_anew
    """
    parts = (case["a"], case["b"], case["c"])
    with subject.places(2) as (place, other):
        whole = subject.build(case, other)
        subject.do(whole, "train", sum(parts))
        end = subject.weights(whole).values
        before = list(whole.calls)
        for number, steps in enumerate(parts):
            run = subject.build(case, place)
            if number:
                subject.do(run, "load", before=before)
            subject.do(run, "train", steps)
            subject.do(run, "save")
            before += run.calls
        last = subject.build(case, place)
        subject.do(last, "load", before=before)
        require_bits(subject.weights(last), end, f"after {parts} steps with interruptions", [*before, *last.calls])


def saving_changes_nothing(subject: Interrupted, case: ParameterCase) -> None:
    """A run that is saved on its way is the run that is not, and one of the same seed.

    Formula: train(a), save(), train(b) = train(a), train(b)
    Source: a save that draws, or that leaves the model in another mode or precision
    Fault: saving_draws
    """
    with subject.places(2) as (place, other):
        plain = subject.build(case, other)
        subject.do(plain, "train", case["a"])
        subject.do(plain, "train", case["b"])
        want = subject.weights(plain).values
        run, _, _ = saved_run(subject, case, place)
        require_bits(subject.weights(run), want, "a run that was saved on its way", [*plain.calls, *run.calls])


def loading_gives_the_saved_weights(subject: Interrupted, case: ParameterCase) -> None:
    """The weights after load() are those at save(), bit by bit, whatever was done since.

    Formula: save(), train(b), new, load(): weights = weights at save()
    Source: half precision in the file, or references to weights that are trained on
    Fault: saved_in_half_precision
    """
    with subject.places() as (place,):
        run, then, _ = saved_run(subject, case, place)
        other = subject.build(case, place)
        subject.do(other, "load", before=run.calls)
        require_bits(subject.weights(other), then, "after load()", [*run.calls, *other.calls])


def loading_replaces_everything(subject: Interrupted, case: ParameterCase) -> None:
    """An object that has trained on its own goes on from the checkpoint as a new one does.

    Formula: new, train(c), load(), train(b) = new, load(), train(b)
    Source: a restore that fills only what is empty leaves old moments, or an old place in the data
    Fault: old_moments_kept
    """
    with subject.places() as (place,):
        run, _, end = saved_run(subject, case, place)
        other = subject.build(case, place)
        subject.do(other, "train", case["c"])
        subject.do(other, "load", before=run.calls)
        subject.do(other, "train", case["b"])
        what = f"{case['b']} steps after load() into a run of {case['c']} steps"
        require_bits(subject.weights(other), end, what, [*run.calls, *other.calls])


def a_run_goes_back_to_before_its_first_step(subject: Interrupted, case: ParameterCase) -> None:
    """An object that has trained on its own and loads a checkpoint from before the first step begins as a new run does.

    Formula: new, save(); new, train(c), load(), train(b) = new, train(b)
    Source: moments that are restored only where the file has some
    Fault: no_moments_are_no_news
    """
    with subject.places() as (place,):
        run = subject.build(case, place)
        request, response = subject.raw(run, "save")
        if not came_back(response):
            raise NotApplicable("it saves nothing before the first step")
        run.calls.append(Result(np.zeros(0), request))
        subject.do(run, "train", case["b"])
        end = subject.weights(run).values
        other = subject.build(case, place)
        subject.do(other, "train", case["c"])
        subject.do(other, "load", before=run.calls)
        subject.do(other, "train", case["b"])
        what = f"{case['b']} steps after load() of a run without a step into one of {case['c']} steps"
        require_bits(subject.weights(other), end, what, [*run.calls, *other.calls])


def the_path_tells_nothing(subject: Interrupted, case: ParameterCase) -> None:
    """A checkpoint under another name, with other numbers in it, goes on as before.

    Formula: resuming_gives_the_same_bits with the files copied to another path
    Source: resume from a parsed path
    Fault: step_from_the_path
    """
    with subject.places(2) as (place, other):
        run, _, end = saved_run(subject, case, place)
        place.copy(other)
        moved = subject.build(case, other.path.replace("step-1900", "step-3"))
        subject.do(moved, "load", before=run.calls)
        subject.do(moved, "train", case["b"])
        require_bits(subject.weights(moved), end, "from a copy under another name", [*run.calls, *moved.calls])


def a_new_process_goes_on(subject: Interrupted, case: ParameterCase) -> None:
    """A new process goes on from the checkpoint to the same bits (asked where the target has a process of its own).

    Formula: as resuming_gives_the_same_bits, in another process
    Source: what lives in the process alone: caches by id, hashes of strings, generators of other libraries
    Fault: kept_in_the_process
    """
    if not subject.runner.isolated:
        raise NotApplicable("the target runs in this process")
    with subject.places() as (place,):
        run, _, end = saved_run(subject, case, place)
        subject.runner.close()
        other = subject.build(case, place)
        subject.do(other, "load", before=run.calls)
        subject.do(other, "train", case["b"])
        require_bits(subject.weights(other), end, "in a new process", [*run.calls, *other.calls])


SPACE = Sizes({"a": (1, 9), "b": (1, 6), "c": (1, 5), "width": (2, 6)})
LARGE = Sizes({"a": (1, 1), "b": (1, 1), "c": (1, 1), "width": (200, 256)}, related=lambda sizes: False)
OTHER = Sizes(SPACE.ranges, related=lambda sizes: False)
"""A smaller case would cost another process each, so nothing is made smaller."""
ROW: dict[str, Any] = {"contract": CONTRACT, "family": "checkpoint", "large": 5, "small": 0, "space": SPACE}
LAWS = (
    *(
        Law(check, **ROW)
        for check in (
            resuming_gives_the_same_bits, several_interruptions_change_nothing, saving_changes_nothing,
            loading_gives_the_saved_weights, loading_replaces_everything, a_run_goes_back_to_before_its_first_step,
            the_path_tells_nothing,
        )
    ),
    *(
        Law(check, **{**ROW, "large": 2})
        for check in (
            pickles_are_refused, other_shapes_are_refused, a_cut_file_is_refused, a_missing_file_is_refused,
            a_refused_load_changes_nothing, a_full_disk_keeps_the_last_whole_one,
        )
    ),
    Law(a_kill_in_the_midst_keeps_a_whole_one, **{**ROW, "space": LARGE, "large": 1}),
    Law(a_new_process_goes_on, **{**ROW, "space": OTHER, "large": 1}),
    law_of(CONTRACT, OTHER),
)  # fmt: skip
COMPARISONS = ("resuming_gives_the_same_bits", "loading_gives_the_saved_weights")

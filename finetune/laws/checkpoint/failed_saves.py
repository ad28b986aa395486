"""Laws of saves that fail on their way: a full disk, or a kill, leaves the last whole checkpoint."""

from __future__ import annotations

from attention_core.conformance.subjects.evidence import Evidence, Shown, Violation
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.worker.exchange import NDArray
from finetune.laws.checkpoint.interrupted import (
    Interrupted,
    Interruptible,
    Place,
    as_evidence,
    came_back,
    different,
    require_bits,
    saved_run,
)


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

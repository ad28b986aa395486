"""Laws of what a checkpoint must refuse, in a clear line: pickles, other shapes, files that are cut or not there."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from attention_core.conformance.subjects.evidence import Evidence, NotApplicable, Result, Shown, Violation
from attention_core.conformance.subjects.parameter_case import ParameterCase
from finetune.laws.checkpoint.interrupted import Interrupted, as_evidence, came_back, pickles, require_bits, saved_run


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

"""The pieces of work of this experiment, what each comes to, and where that is kept, so that a run goes on.

A piece is (kind, document, step, number, ...), number -1 for the right step and else that of one of its breaks. Its key
is a hash of the checker, of the document and of the (broken) step itself: what has changed is done again, nothing else.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.append(str(Path(__file__).resolve().parents[1] / "power"))

from breaks import Break, breaks, said
from store import Store

from attention_core.derivation.cases.problem import Problem
from attention_core.derivation.claims import claim_of
from attention_core.derivation.decision.decide import decide
from attention_core.derivation.effort import Effort
from attention_core.derivation.judge import decide_step
from attention_core.derivation.reading.step import Step
from attention_core.derivation.reading.steps import steps_of

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
HOME = ROOT / "derivations"
PATIENT = Effort(seconds=60.0)
"""A step's own time is measured; a busy machine must not change what it comes to."""
LADDER = 10
"""With other seeds, sizes far up are tried at every one of so many."""
Piece = tuple[Any, ...]
SHOWING = ("cli", "collection", "editors", "mathml", "report", "show")
"""Modules and folders that show verdicts and make none: no result depends on them."""
OWN_CODE = {"numbers": ("evaluator.py", "numeric.py"), "tool": ("others.py",)}


@cache
def documents() -> tuple[str, ...]:
    """The documents that are checked."""
    return tuple(sorted(path.stem for path in HOME.glob("*.md") if path.name != "README.md"))


@cache
def text_of(document: str) -> str:
    """A document."""
    return (HOME / f"{document}.md").read_text(encoding="utf-8")


@cache
def steps(document: str) -> dict[str, Step]:
    """The right steps of a document: those that it does not expect to be refuted."""
    found = steps_of(text_of(document))[0]
    return {s.id: s for s in found if isinstance(s, Step) and not s.option("expect")}


@cache
def broken(document: str, step: str) -> tuple[Break, ...]:
    """The breaks of a step."""
    return tuple(breaks(steps(document)[step]))


def chosen(piece: Piece) -> Step:
    """The step of a piece: a right one, or one of its breaks."""
    _, document, step, number, *_ = piece
    return steps(document)[step] if number < 0 else broken(document, step)[number].step


@cache
def code(kind: str) -> str:
    """A hash of what decides about a kind of piece."""
    digest = hashlib.sha256()
    home = ROOT / "attention_core" / "derivation"
    for file in sorted(home.rglob("*.py")):
        name = file.relative_to(home)
        if name.parts[0] not in SHOWING and name.stem not in SHOWING:
            digest.update(name.as_posix().encode() + file.read_bytes())
    for name in OWN_CODE.get(kind, ()):
        digest.update((HERE / name).read_bytes())
    for package in ("python-flint", "lark"):
        digest.update(version(package).encode())
    return digest.hexdigest()


def key(piece: Piece) -> str:
    """The key of a piece."""
    kind, document, step, number, *rest = piece
    parts = [code(kind), text_of(document), kind, document, step, min(number, 0), said(chosen(piece)), rest]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:20]


# -- what is done -----------------------------------------------------------------------------------------------------


def decided(piece: Piece) -> dict[str, Any]:
    """The checker's verdict, how long it took, and how large its counterexample is."""
    step = chosen(piece)
    start = time.process_time()
    found = decide_step(step, PATIENT)
    out: dict[str, Any] = {"verdict": str(found.verdict), "seconds": round(time.process_time() - start, 4)}
    if found.counterexample is not None:
        sizes = {n for n, d in step.context.symbols.items() if d.kind in ("size", "index")}
        out["extent"] = extent(found.counterexample.values, sizes)
    elif str(found.verdict) not in ("PROVED", "EXACT"):
        out["text"] = found.evidence.text[:200]
    return out


def extent(values: dict[str, Any], sizes: set[str]) -> tuple[int, int]:
    """Largest size and largest whole number in a counterexample; a fraction counts as the larger of its two parts."""
    numbers = {name: [int(n) for n in re.findall(r"\d+", str(found))] for name, found in values.items()}
    size = max((max(found) for name, found in numbers.items() if name in sizes and found), default=0)
    return size, max((max(found) for name, found in numbers.items() if name not in sizes and found), default=0)


def reseeded(piece: Piece) -> dict[str, Any]:
    """The verdicts of a right step under a range of seeds, from the search of cases alone: proofs refute nothing and
    depend on no seed. Sizes far up the ladder are tried at every tenth seed."""
    *_, first, last = piece
    start, step = time.process_time(), chosen(piece)
    random = bool(step.option("check"))
    context, claim, extra = (step.context, None, []) if random else claim_of(step)
    known: dict[Any, Any] = {}  # what a seed does not change: the step at each of its sizes
    verdicts = {}
    for seed in range(first, last):
        effort = replace(PATIENT, seed=seed, proofs=False, ladder=0 if seed % LADDER else PATIENT.ladder)
        if claim is None:
            verdicts[seed] = str(decide_step(step, effort).verdict)
            continue
        problem = Problem(context, claim, extra, effort)
        problem.shared = known
        verdicts[seed] = str(decide(problem).verdict)
    bad = {seed: v for seed, v in verdicts.items() if v not in ("PROVED", "EXACT", "AGREES", "STATISTICAL")}
    return {"count": len(verdicts), "bad": bad, "seconds": round(time.process_time() - start, 3)}


def computed(piece: Piece) -> dict[str, Any]:
    """The second opinion, in numbers."""
    from numeric import opinion

    *_, points, largest, wide = piece
    return opinion(chosen(piece), points, largest=largest, wide=wide)


def answered(piece: Piece) -> dict[str, Any]:
    """What another tool says."""
    from others import ask

    return ask(piece[4], chosen(piece))


DO = {"right": decided, "break": decided, "seeds": reseeded, "numbers": computed, "tool": answered}


def done(piece: Piece) -> tuple[Piece, dict[str, Any]]:
    """A piece and its result."""
    return piece, DO[piece[0]](piece)


def results(pieces: Sequence[Piece], kept: Store, name: str, processes: int = 1) -> Iterator[tuple[Piece, Any]]:
    """What each piece comes to: what is not known yet is done, on some processes, and kept as it comes."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    known = kept.known()
    keys = {p: key(p) for p in pieces}
    todo = [p for p in pieces if keys[p] not in known]
    if todo:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with (
            Progress(*columns, transient=True, console=Console(stderr=True)) as progress,
            multiprocessing.get_context("spawn").Pool(processes, maxtasksperchild=400) as pool,
        ):
            bar = progress.add_task(name, total=len(pieces), completed=len(pieces) - len(todo))
            for piece, line in pool.imap_unordered(done, todo):
                known[keys[piece]] = {"key": keys[piece], "of": list(piece[:3]), **line}
                kept.add(known[keys[piece]])
                progress.advance(bar)
    for piece in pieces:
        yield piece, known[keys[piece]]


def reached(pieces: Sequence[Piece], kept: Store) -> Iterator[tuple[Piece, Any]]:
    """What is known already, without doing anything."""
    known = kept.known()
    for piece in pieces:
        if (found := known.get(key(piece))) is not None:
            yield piece, found

"""A worker process as its starter sees it: how it ended, what it printed last, and that nothing of it stays."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from attention_core.worker.process import LAST_WORDS, MEMORY_SHARE, Tail, WorkerProcess, memory_limit


def start(module: str, pipes: int = 1) -> WorkerProcess:
    return WorkerProcess(module, {"PATH": os.environ["PATH"]}, pipes=pipes, flags=("-I",))


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("this", "ended with status 0; it last printed: Namespaces are one honking great idea"),
        ("no_such_module", "ended with status 1; it last printed: "),
    ],
)
def test_the_end_of_a_process_is_described_with_what_it_printed_last(module: str, words: str) -> None:
    process = start(module)
    try:
        process.popen.wait()
        assert process.describe_end().startswith(words)
        assert module == "this" or "No module named no_such_module" in process.describe_end()
        assert os.read(process.read, 1) == b"", "its end of the pipe is closed"
        assert process.watch(lambda: True)() and not process.watch(lambda: False)()
    finally:
        process.end()


def test_a_signal_is_named_and_both_ends_of_every_pipe_are_closed() -> None:
    process = start("http.server", pipes=2)  # its second argument is unknown to it: either way it is ended below
    ends = [end for pair in process.pipes for end in pair]
    assert len(ends) == 4 and all(os.fstat(end) for end in ends)
    process.popen.send_signal(signal.SIGSTOP)
    process.end()
    assert process.popen.returncode == -signal.SIGKILL or process.popen.returncode > 0
    assert process.pipes == []
    for end in ends:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(end)


def test_a_flood_keeps_its_end_and_a_sanitizers_summary_comes_first(tmp_path: Path) -> None:
    path = tmp_path / "printed"
    path.write_text(
        "x" * 3 * LAST_WORDS + "\nSUMMARY: AddressSanitizer: heap-buffer-overflow\nand more\n", encoding="utf-8"
    )
    with path.open("rb") as stream:
        tail = Tail(stream)
        assert tail.words() == "SUMMARY: AddressSanitizer: heap-buffer-overflow"
        assert len(tail.kept) == LAST_WORDS and tail.total == path.stat().st_size
    path.write_text("first\n" + "y" * 500, encoding="utf-8")
    with path.open("rb") as stream:
        assert Tail(stream).words() == "y" * 200


def test_memory_is_limited_on_processors_and_not_under_a_sanitizer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert memory_limit("cpu") == int(MEMORY_SHARE * whole)
    assert memory_limit("cuda:0") is None
    monkeypatch.setenv("LD_PRELOAD", "/usr/lib/libasan.so.8")
    assert memory_limit("cpu") is None

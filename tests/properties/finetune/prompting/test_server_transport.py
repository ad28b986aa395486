"""What a server sends is bounded while it arrives."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finetune.prompting.server import LONGEST, BoundedStream, TooLong, bound


class Endless(httpx2.SyncByteStream):
    """Bytes without an end; it counts what was taken."""

    def __init__(self) -> None:
        self.taken, self.closed = 0, False

    def __iter__(self) -> Iterator[bytes]:
        while True:
            self.taken += 1000
            yield b"x" * 1000

    def close(self) -> None:
        self.closed = True


@given(st.lists(st.binary(max_size=20)), st.integers(0, 200))
def test_bytes_up_to_the_bound_pass_unchanged(chunks: list[bytes], longest: int) -> None:
    class Given(httpx2.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            yield from chunks

    whole = b"".join(chunks)
    if len(whole) <= longest:
        assert b"".join(BoundedStream(Given(), longest)) == whole
    else:
        with pytest.raises(TooLong, match=f"more than {longest:,} bytes"):
            list(BoundedStream(Given(), longest))


def test_an_endless_answer_is_left_at_the_bound() -> None:
    stream = Endless()
    with pytest.raises(TooLong):
        list(BoundedStream(stream, 10_000))
    assert stream.taken == 11_000


def test_a_response_is_bounded_and_its_stream_is_closed() -> None:
    stream = Endless()
    response = httpx2.Response(200, stream=stream)
    bound(response)
    assert response.stream.longest == LONGEST
    response.stream.close()
    assert stream.closed


@pytest.mark.parametrize("encoding", ["gzip", "br", "deflate"])
def test_a_compressed_answer_is_refused(encoding: str) -> None:
    with pytest.raises(TooLong, match="compressed"):
        bound(httpx2.Response(200, headers={"content-encoding": encoding}, stream=Endless()))

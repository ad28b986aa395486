"""A bound on what a server may send, so that a broken or hostile one cannot fill the memory."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2

LONGEST = 64 * 2**20
"""Bytes of one answer."""


class TooLong(httpx2.TransportError):
    """An answer beyond the bound, or compressed although the request did not offer to unpack it."""


class BoundedStream(httpx2.SyncByteStream):
    """The bytes of an answer, up to a bound.

    >>> b"".join(BoundedStream(httpx2.ByteStream(b"abc"), 3))
    b'abc'
    """

    def __init__(self, stream: httpx2.SyncByteStream, longest: int) -> None:
        self.stream, self.longest = stream, longest

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for chunk in self.stream:
            size += len(chunk)
            if size > self.longest:
                raise TooLong(f"an answer of more than {self.longest:,} bytes")
            yield chunk

    def close(self) -> None:
        """Close the connection's stream."""
        self.stream.close()


def bound(response: httpx2.Response) -> None:
    """Bound a response that has not been read yet: a response hook of the client.

    Raises:
        TooLong: if the response is compressed. A few bytes can stand for gigabytes.
    """
    if response.headers.get("content-encoding", "identity") != "identity":
        raise TooLong("a compressed answer, which was not asked for")
    assert isinstance(response.stream, httpx2.SyncByteStream)
    response.stream = BoundedStream(response.stream, LONGEST)

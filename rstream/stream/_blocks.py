"""Shared blocks: a large message that lies once on its host, for readers of many streams.

A segment (``_segments.py``) does that for the readers of one stream and lives as long as its log. A
group of handles has a stream for each member, so what they share belongs to none of them.

A block is a file in the driver directory. Its publisher writes it and sends each reader of the host
a short message that names it (kind 7). A reader maps the file for reading. When every reader has
consumed the message, the publisher removes the name. The kernel frees the memory with the last
mapping, so nobody keeps count of who still uses it.

Blocks are named ``<process id>.<number>`` among the logs, where a driver that ends removes them.
Their publisher holds a lock on them. So the next publisher of blocks knows which belong to dead
processes, also to those of other containers, and removes them.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rstream.errors import CodecError

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from rstream.codecs import Encoded

#: Process id, number and length in bytes: the payload of a message that names a block.
NOTE: Final = struct.Struct("<QQQ")
#: Longest block in bytes, as the longest message.
LENGTH_MAX: Final = (1 << 31) - 1

#: Numbers of blocks begin here, far above those of segments, which lie in the same folder.
NUMBER_MIN: Final = 1 << 60

_numbers = count(NUMBER_MIN + (int.from_bytes(os.urandom(5), "little") << 12))


class Block:
    """A block of this process; :meth:`remove` it when its readers have it.

    Args:
        directory: the driver directory.
        data: the encoded message.
    Raises:
        OSError: there is no room for it.
    """

    def __init__(self, directory: str, data: Encoded) -> None:
        parts = data if isinstance(data, list) else [data]
        views = [memoryview(part).cast("B") for part in parts]
        self.length_bytes: int = sum(view.nbytes for view in views)
        self._fd, number, self._path = _locked_file(directory)
        self.note: bytes = NOTE.pack(os.getpid(), number, self.length_bytes)
        try:
            # Without room a write to the mapping would end the process.
            os.posix_fallocate(self._fd, 0, self.length_bytes)
            with mmap.mmap(self._fd, self.length_bytes) as mapped:
                place = 0
                for view in views:
                    mapped[place : place + view.nbytes] = view
                    place += view.nbytes
        except BaseException:
            self.remove()
            raise

    def remove(self) -> None:
        """Remove its name; who has mapped it keeps it. Idempotent."""
        with suppress(FileNotFoundError):
            os.unlink(self._path)
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1


def _locked_file(directory: str) -> tuple[int, int, str]:
    """A new file that this process has locked: descriptor, number, path."""
    while True:
        number = next(_numbers)
        path = _path(directory, os.getpid(), number)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(fd, fcntl.LOCK_EX)
        # Another process may have taken it for an orphan before it was locked.
        if os.fstat(fd).st_nlink:
            return fd, number, path
        os.close(fd)


def map_block(directory: str, note: Buffer) -> memoryview:
    """The content of a block that a message names.

    Args:
        directory: the driver directory.
        note: the payload of the message.
    Raises:
        CodecError: the message names no block that is there.
    """
    try:
        process_id, number, length_bytes = NOTE.unpack(note)
        if number < NUMBER_MIN or not 0 < length_bytes <= LENGTH_MAX:
            raise ValueError(f"number {number}, length {length_bytes}")
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(_path(directory, process_id, number), flags)
        try:
            if os.fstat(fd).st_size < length_bytes:
                raise ValueError("it is shorter than its message says")
            return memoryview(mmap.mmap(fd, length_bytes, access=mmap.ACCESS_READ))
        finally:
            os.close(fd)
    except (OSError, ValueError, struct.error) as error:
        raise CodecError(f"its shared block cannot be mapped: {error}") from error


def remove_orphans(directory: str) -> int:
    """Remove blocks of processes that are dead; returns how many."""
    removed = 0
    for path in Path(directory, "publications").glob("[0-9]*.[0-9]*"):
        if int(path.suffix[1:]) < NUMBER_MIN:
            continue  # a segment
        with suppress(OSError):
            fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
                removed += 1
            finally:
                os.close(fd)
    return removed


def _path(directory: str, process_id: int, number: int) -> str:
    return f"{directory}/publications/{process_id}.{number}"

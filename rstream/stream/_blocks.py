"""Shared blocks: a large message that lies once on its host, for readers of many streams.

A segment (``_segments.py``) does that for the readers of one stream and lives as long as its log. A
group of handles has a stream for each member, so what they share belongs to none of them.

A block is a file in the driver directory. Its publisher writes it and sends each reader of the host
a short message that names it (kind 7). A reader maps the file for reading, under a shared lock that
lives as long as the mapping.

Fresh shared memory is filled at a fifth of memcpy's speed: the kernel has to find, clear and map
each page. So a publisher keeps blocks that every reader has consumed (:class:`BlockPool`), and
writes the next message into one that nobody maps any more, which an exclusive lock proves. It gets
a new name first, so a reader that is late finds no block, never the wrong content.

Blocks are named ``<process id>.<number>`` among the logs, where a driver that ends removes them.
Their publisher holds a shared lock on them. So the next publisher of blocks knows which belong to
dead processes, also to those of other containers, and removes them.
"""

from __future__ import annotations

import errno
import fcntl
import functools
import io
import mmap
import os
import struct
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rstream._process import is_inherited, quiet_when_torn_down
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

#: A pool keeps at most so many blocks: one may still be mapped by who handles the item before.
KEPT_MOST: Final = 2
KEPT_BYTES_MOST: Final = 1 << 30
#: A block that is used again is at most so many times as long as its message.
FITS_MOST: Final = 4

#: In C: no signal handler runs between it and the object that closes the file.
_opener = functools.partial(os.open, mode=0o600)

_numbers = count(NUMBER_MIN + (int.from_bytes(os.urandom(5), "little") << 12))


class SharedBlock:
    """A block of this process; :meth:`remove` it when its readers have it.

    Args:
        directory: the driver directory.
        views: the encoded message, in pieces.
    Raises:
        OSError: there is no room for it.
    """

    def __init__(self, directory: str, views: list[memoryview]) -> None:
        self.directory = directory
        self.note = b""
        self.capacity_bytes = sum(view.nbytes for view in views)
        self._mapped: mmap.mmap | None = None
        self._file: io.FileIO | None = None
        self._paths: tuple[str, ...] = ()
        self._pid = os.getpid()
        try:
            self._open()
            place = 0
            for view in views:  # writing is faster than a mapping whose pages are all new
                place = _write(self._fd, view, place)
            self._name(place)
        except BaseException:
            self.remove()
            raise

    def _open(self) -> None:
        """Make the file, on which this process has a shared lock."""
        while True:
            self._number = next(_numbers)
            self._paths = (_path(self.directory, self._pid, self._number),)
            self._file = io.FileIO(self._paths[0], "x+", opener=_opener)
            fcntl.flock(self._fd, fcntl.LOCK_SH)
            # Another process may have taken it for an orphan before it was locked.
            if os.fstat(self._fd).st_nlink:
                return

    @property
    def _fd(self) -> int:
        return -1 if self._file is None else self._file.fileno()

    @quiet_when_torn_down
    def __del__(self) -> None:
        if not is_inherited(self._pid):  # of who was interrupted before it was kept
            self.remove()

    def _name(self, length_bytes: int) -> None:
        self.note = NOTE.pack(os.getpid(), self._number, length_bytes)

    def renew(self, views: list[memoryview], length_bytes: int) -> bool:
        """Write another message, which fits, if no reader maps the last one. False: one does.

        Raises:
            OSError: the file has gone; remove the block.
        """
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with suppress(BlockingIOError):  # who fails to get a lock loses the one that it had
                fcntl.flock(self._fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
        number = next(_numbers)
        path = _path(self.directory, os.getpid(), number)
        self._paths = path, *self._paths  # both, until it has only one: it may be interrupted
        os.rename(self._paths[1], path)
        self._number, self._paths = number, (path,)
        if self._mapped is None:
            self._mapped = mmap.mmap(self._fd, self.capacity_bytes)
        place = 0
        for view in views:
            self._mapped[place : place + view.nbytes] = view
            place += view.nbytes
        fcntl.flock(self._fd, fcntl.LOCK_SH)
        if not os.fstat(self._fd).st_nlink:  # taken for an orphan between the two locks
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        self._name(length_bytes)
        return True

    def remove(self) -> None:
        """Remove its name; who has mapped it keeps it. Idempotent."""
        for path in self._paths:
            with suppress(FileNotFoundError):
                os.unlink(path)
        self._paths = ()
        self._mapped = None
        if self._file is not None:
            self._file.close()
        self._file = None


class BlockPool:
    """Makes blocks, and uses those again that every reader has consumed.

    It keeps at most ``KEPT_MOST`` of them, and of ``KEPT_BYTES_MOST`` in all, until it is closed.
    One thread at a time.
    """

    def __init__(self) -> None:
        self._kept: list[SharedBlock] = []  # oldest first

    def put(self, directory: str, data: Encoded) -> SharedBlock:
        """A block with an encoded message.

        Raises:
            OSError: there is no room for it.
        """
        parts = data if isinstance(data, list) else [data]
        views = [memoryview(part).cast("B") for part in parts]
        length_bytes = sum(view.nbytes for view in views)
        for block in list(self._kept):
            if block.directory != directory or not (
                length_bytes <= block.capacity_bytes <= FITS_MOST * length_bytes
            ):
                continue
            try:
                if not block.renew(views, length_bytes):
                    continue
            except OSError:  # a driver that ended has removed it
                self._kept.remove(block)
                block.remove()
                continue
            self._kept.remove(block)
            return block
        try:
            return SharedBlock(directory, views)
        except OSError:
            if not self._kept:
                raise
        self.close()  # what is kept takes the room
        return SharedBlock(directory, views)

    def keep(self, block: SharedBlock) -> None:
        """Take a block that every reader has consumed."""
        self._kept.append(block)
        while (
            len(self._kept) > KEPT_MOST
            or sum(one.capacity_bytes for one in self._kept) > KEPT_BYTES_MOST
        ):
            self._kept.pop(0).remove()

    def close(self) -> None:
        """Remove what is kept."""
        while self._kept:
            self._kept.pop().remove()


def _write(fd: int, view: memoryview, place: int) -> int:
    """Write all of a view; returns the place behind it."""
    while view.nbytes:
        written = os.pwrite(fd, view, place)
        place += written
        view = view[written:]
    return place


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
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)  # the mapping keeps it
            facts = os.fstat(fd)
            if facts.st_ino != os.stat(_path(directory, process_id, number)).st_ino:
                raise ValueError("another message has its memory")
            if facts.st_size < length_bytes:
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

"""Large items of a group: on a host an item lies once, and each member there maps it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from rstream.stream._internal import BlockPool, SharedBlock, length_of, remove_orphans

if TYPE_CHECKING:
    from rstream.codecs import Encoded
    from rstream.ray._lane import Lane

log = logging.getLogger("rstream")

#: From so many bytes on an item lies in a shared block if two members or more are on this host.
BLOCK_MIN: Final = 128 * 1024


class GroupBlocks:
    """The shared blocks of a group. One thread at a time.

    Args:
        title: of the group, for people.

    Attributes:
        shared: how many items lay in one.
    """

    def __init__(self, title: str) -> None:
        self.shared = 0
        self._title = title
        self._used: list[SharedBlock] = []  # that a member has not consumed yet
        self._pool = BlockPool()

    def put(self, lanes: list[Lane], data: Encoded) -> SharedBlock | None:
        """A block with an item; None: the lanes carry it."""
        here = [lane for lane in lanes if lane.is_here]
        if len(here) < 2 or length_of(data) < BLOCK_MIN:
            return None
        directory = here[0].handle.driver_dir
        try:
            if self.shared == 0:
                remove_orphans(directory)
            block = self._pool.put(directory, data)
        except OSError as error:  # no room, or a system without O_TMPFILE
            log.debug("%s: no shared block: %s", self._title, error)
            return None
        self._used.append(block)
        self.shared += 1
        return block

    def free(self, lanes: list[Lane]) -> None:
        """Give back the blocks that all members have consumed."""
        needed = {id(block) for lane in lanes for _, block in lane.blocks}
        for block in [one for one in self._used if id(one) not in needed]:
            self._used.remove(block)
            self._pool.keep(block)

    def close(self) -> None:
        """Remove all. A call that was interrupted is made again."""
        for block in self._used:
            block.remove()
        self._used.clear()
        self._pool.close()

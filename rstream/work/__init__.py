"""Sharing work: each message goes to one of several readers, one that has free demand.

    with rstream.work.publisher("jobs") as jobs:  # one process, or several
        for path in paths:
            jobs.send(path)  # waits while no reader has free demand

    with rstream.work.subscriber("jobs") as jobs:  # as many processes as there is work for
        for job in jobs:
            convert(job.item)  # done when the next one is asked for

What a reader that died had not acknowledged goes to another one, marked by :attr:`Job.delivery`
(at least once); or is only told, with ``redeliver=False`` (at most once). Inside one program,
:func:`rstream.stages.partition_hub` shares elements.

A plain :func:`rstream.publisher` gives every message to every reader.
"""

from __future__ import annotations

import rstream.stream  # noqa: F401  # pyright: ignore[reportUnusedImport] - decision 90
from rstream.work._job import Job
from rstream.work._open import publisher, subscriber
from rstream.work._publisher import Publisher
from rstream.work._subscriber import Subscriber
from rstream.work._unfinished import Unfinished

__all__ = ("Job", "Publisher", "Subscriber", "Unfinished", "publisher", "subscriber")

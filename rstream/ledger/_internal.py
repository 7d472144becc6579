"""What other rooms of rstream may use of :mod:`rstream.ledger`; no promise to its users."""

from __future__ import annotations

from rstream.ledger._database import BUSY_S, Database, failure
from rstream.ledger._marks import Marks, marked, opening
from rstream.ledger._messages import CHECKSUM_BEGIN, Account, Answer, Ask, checksum, service_name
from rstream.ledger._reading import STAGING_BYTES, CommittedReading
from rstream.ledger._rows import from_bytes, to_bytes

__all__ = (
    "BUSY_S",
    "CHECKSUM_BEGIN",
    "STAGING_BYTES",
    "Account",
    "Answer",
    "Ask",
    "CommittedReading",
    "Database",
    "Marks",
    "checksum",
    "failure",
    "from_bytes",
    "marked",
    "opening",
    "service_name",
    "to_bytes",
)

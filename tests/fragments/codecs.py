"""The page about codecs."""

from __future__ import annotations

from typing import Any

from tests.fragments.fragment import Fragment

TYPES = """
import msgspec
import numpy as np
import pandas as pd
import pyarrow as pa
import rstream

class Tick(msgspec.Struct):
    px: float
"""


def _on_page(number: int, **parts: Any) -> Fragment:
    return Fragment(page="docs/how-to/codecs.md", number=number, **parts)


FRAGMENTS = (
    _on_page(0, before=TYPES, needs="pandas"),
    _on_page(1, needs="numpy"),
    _on_page(
        2,
        before=f"{TYPES}\nsub = rstream.subscriber('frames', np.ndarray)",
        after="print(sub.get(timeout_s=20).shape)",
        shown="(48, 64, 3)\n",
        changed=(("480, 640, 3", "48, 64, 3"),),
        needs="pandas",
    ),
    _on_page(
        3,
        before=f"{TYPES}\nsub = rstream.subscriber('steps')",
        after="step = sub.get(timeout_s=20); print(step['obs'].shape, repr(step['reward']))",
        shown="(64, 84, 84) np.float32(1.0)\n",
        needs="pandas",
    ),
    _on_page(
        4,
        before=f"{TYPES}\nframe = pd.DataFrame({{'px': [1.0]}}, index=['a'])\n"
        "early = rstream.subscriber('rows', pa.Table)",
        after="print(early.get(timeout_s=20).to_pydict())",
        shown="{'px': [1.0], '__index_level_0__': ['a']}\n",
        needs="pandas",
    ),
    _on_page(
        5,
        before="import msgspec, rstream",
        after="""
pub = rstream.publisher("orders")
pub.send({"price": Decimal("1.10"), "at": datetime(2026, 1, 2), "tags": {"new"}})
print(sub.get(timeout_s=20))
""",
        shown="Order(price=Decimal('1.10'), at=datetime.datetime(2026, 1, 2, 0, 0), "
        "tags={'new'})\n",
    ),
    _on_page(
        6,
        before="import ipaddress, rstream",
        after="""
address = ipaddress.ip_address("10.0.0.7")
print(reader.decode_many([writer.encode([address])]) == [[address]])
""",
        shown="True\n",
    ),
    _on_page(7),
)

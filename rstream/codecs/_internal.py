"""What other rooms of rstream may use of :mod:`rstream.codecs`; no promise to its users."""

from __future__ import annotations

from rstream.codecs._arrow import form_of
from rstream.codecs._arrow_stream import ArrowStreamReader, encoded_length
from rstream.codecs._choose import choose_for_handle, choose_of_handle
from rstream.codecs._limits import DECODED_BYTES, LIMITS, ROWS, limited
from rstream.codecs._plain import plain

__all__ = (
    "DECODED_BYTES",
    "LIMITS",
    "ROWS",
    "ArrowStreamReader",
    "choose_for_handle",
    "choose_of_handle",
    "encoded_length",
    "form_of",
    "limited",
    "plain",
)

"""How a part of rstream that needs other packages gets them."""

from __future__ import annotations


def how_to_install(extra: str) -> str:
    """What to type for an extra, with the wheel (``make wheel``) or in a checkout."""
    return f'pip install "rstream_transport-….whl[{extra}]", or ".[{extra}]" in a checkout'

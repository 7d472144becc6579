"""What the commands say of the path that a publication follows (``cc=path``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rstream import metrics

__all__ = ("path_text",)


def path_text(path: metrics.PathState) -> str:
    """Bandwidth, least round trip, loss and what is under way, in a line."""
    if path.bandwidth_bytes_per_s is None or path.least_rtt_ns is None:
        return "path: not known yet: its receiver has not told what arrives"
    return (
        f"path: {path.bandwidth_bytes_per_s:,} bytes/s, least round trip "
        f"{path.least_rtt_ns / 1e6:.3g} ms, {path.loss_ratio:.2%} lost, "
        f"{path.under_way_bytes:,} bytes under way"
    )

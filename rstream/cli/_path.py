"""What the commands say of the path that a publication follows, and of a reader's window."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rstream import metrics

__all__ = ("path_text", "window_advice")


def path_text(path: metrics.PathState) -> str:
    """Bandwidth, least round trip, loss and what is under way, in a line."""
    if path.bandwidth_bytes_per_s is None or path.least_rtt_ns is None:
        return "path: not known yet: its receiver has not told what arrives"
    return (
        f"path: {path.bandwidth_bytes_per_s:,} bytes/s, least round trip "
        f"{path.least_rtt_ns / 1e6:.3g} ms, {path.loss_ratio:.2%} lost, "
        f"{path.under_way_bytes:,} bytes under way"
    )


def window_advice(state: metrics.ImageState) -> str:
    """What gives a reader the window that it wants; empty: it has that."""
    if not state.wanted_window_bytes:
        return ""
    limit = f"net.core.rmem_max to {state.wanted_window_bytes}"
    return f"raise so-rcvbuf and {limit}" if "so-rcvbuf=" in state.channel else f"raise {limit}"

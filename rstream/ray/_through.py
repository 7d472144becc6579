"""Edges of Compiled Graphs as streams, without the import of ``ray.experimental``."""

from __future__ import annotations

from typing import Any

from rstream._checks import short


def through_stream(node: Any, *, trusted_network: bool = False, dir: str | None = None) -> Any:
    """Have the value of a node of a Ray Compiled Graph go through a stream. Alpha.

    For nodes whose value actors read, also an ``InputNode``; what the driver program reads stays
    with Ray's own channels. Values are pickled, of any length, and the window of the readers says
    how far the writer may be ahead. ``teardown()`` and the death of an actor end both sides.

    Args:
        node: of the graph, before ``experimental_compile``.
        trusted_network: needed for readers on other nodes: values go over UDP, and whoever reaches
            the port can run code there.
        dir: driver directory of the nodes.
    Returns:
        The node. ``experimental_compile`` raises :class:`rstream.errors.ConfigError` if the driver
        program reads it.

    Raises:
        TypeError: ``node`` is no node of a graph.

    Example::

        with InputNode() as inp:
            hidden = rstream.ray.through_stream(first.run.bind(inp))
            graph = second.run.bind(hidden).experimental_compile()
    """
    from rstream.ray._dag import RstreamChannelType

    if isinstance(node, type) or not hasattr(node, "type_hint"):
        raise TypeError(
            f"rstream.ray.through_stream({short(node)}): must be a node of a graph, such as "
            "actor.method.bind(value)"
        )
    node.type_hint = RstreamChannelType(trusted_network=trusted_network, dir=dir)
    return node

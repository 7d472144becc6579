"""The laboratory: the laws of rate and window in a closed loop, in virtual time, one law beside the other.

The laws are the C ones of the transport; the queue engine (transport_ext/lab) moves positions instead of payload. ``rstream lab`` is its command line.
"""

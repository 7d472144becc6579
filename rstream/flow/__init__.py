"""Control laws that count messages and elements: pure, no I/O, time is an argument.

The laws that count bytes and positions are in C (``transport_ext/flow``).
"""

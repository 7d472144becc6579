"""Control laws in messages: pure, no I/O, time is an argument. Bytes and positions have theirs in
C.
"""

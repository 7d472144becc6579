"""What a hostile or broken peer can do to a driver: one file for each attack, named by its target.

The attacker of these tests has a socket and forges frames (`frames.py`). It has seen no frame of
the victim unless the test says so. Each test states what the attacker sends, and the limit that
must hold.
"""

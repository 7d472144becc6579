"""The C laws once more in readable Python: oracles for property tests, and the lab's fast hands."""

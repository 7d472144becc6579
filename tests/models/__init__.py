"""Python models of the C laws: oracles for property tests, and fast code for the lab."""

"""An older rstream beside this one: `make compat`."""

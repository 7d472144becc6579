"""`make wheel`: python -m tests.wheel. The wheel goes to build/wheel/."""

from tests.wheel.build import build

print(f"wheel: {build()}")

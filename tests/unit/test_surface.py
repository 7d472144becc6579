"""The top level: every public name exists, and importing it loads no optional dependency."""

import subprocess
import sys

import rstream


def test_every_public_name_exists():
    for name in rstream.__all__:
        assert getattr(rstream, name) is not None
    assert set(rstream.__all__) <= set(dir(rstream))


def test_import_loads_no_optional_dependency():
    code = (
        "import sys, rstream; rstream.publisher, rstream.Channel\n"
        "heavy = {'msgspec', 'pyarrow', 'numpy', 'reactivex', 'ray', 'pyspark', 'anyio'}\n"
        "print(*sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(rstream, "nonsense")

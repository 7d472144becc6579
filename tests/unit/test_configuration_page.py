"""docs/reference/configuration.md says what the driver's tables say."""

from tests.make_configuration import PAGE, page


def test_the_tables_are_the_drivers():
    assert page(PAGE.read_text()) == PAGE.read_text(), "run: python -m tests.make_configuration"

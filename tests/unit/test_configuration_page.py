"""docs/reference/configuration.md matches the driver's option tables."""

from tests.make_configuration import PAGE, page


def test_the_page_matches_the_option_tables():
    assert page(PAGE.read_text()) == PAGE.read_text(), "run: python -m tests.make_configuration"

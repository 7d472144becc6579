"""docs/reference/cli.md has a table for each command, as the parser says it."""

from tests.make_cli_page import PAGE, missing, page


def test_the_page_matches_the_parser():
    assert page(PAGE.read_text()) == PAGE.read_text(), "run: python -m tests.make_cli_page"


def test_each_command_has_a_table():
    assert not missing(PAGE.read_text())

"""docs/reference/errors.md matches the error classes and says what to do about each of them."""

from rstream import errors
from tests.make_errors_page import PAGE, ROW, page


def test_the_page_matches_the_error_classes():
    assert page(PAGE.read_text()) == PAGE.read_text(), "run: python -m tests.make_errors_page"


def test_each_error_says_what_to_do():
    advice = {row["name"]: row["advice"] for row in ROW.finditer(PAGE.read_text())}
    wanted = {name for name in errors.__all__ if name[0].isupper() and name != "BY_CODE"}
    assert {name for name, text in advice.items() if text} == wanted

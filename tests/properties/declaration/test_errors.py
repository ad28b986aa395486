"""Words of a target are shown so that they move no cursor, and an exception is one line."""

from __future__ import annotations

from attention_core.declaration.errors import OtherForm, plain, summarize_error


def test_what_cannot_be_shown_is_written_as_an_escape() -> None:
    assert plain("tab\tand\nlines, é and 京") == "tab\tand\nlines, é and 京"
    assert plain("\r\x1b[2Jgone") == r"\r\x1b[2Jgone"
    assert plain("\u202eright to left\ud83d") == r"\u202eright to left\ud83d"


def test_a_password_in_an_address_is_not_shown() -> None:
    assert plain("mysql://me:s3cret@h:1/x, redis://:s3cret@h") == "mysql://me:***@h:1/x, redis://:***@h"
    assert plain("https://h:80/a@b and a file:c@d") == "https://h:80/a@b and a file:c@d"
    assert summarize_error(OSError("no answer: http://a:s3cret@h")) == "OSError: no answer: http://a:***@h"


def test_an_exception_is_its_class_and_its_first_line() -> None:
    assert summarize_error(ValueError("\n first\x07\n second")) == r"ValueError: first\x07"
    assert summarize_error(KeyError()) == "KeyError"


def test_another_form_carries_what_would_be_declared() -> None:
    assert OtherForm("it is a class", {"contract": "kv-cache"}).changes == {"contract": "kv-cache"}

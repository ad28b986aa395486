"""The one exception for what a user can mend: a file, an option, a size.

The command line prints its text as one line; nothing else is caught there.
"""

from __future__ import annotations


class BadInput(ValueError):
    """What was given cannot be used; the text says what it is and how to mend it, in one line."""

"""Derivations where they are written: `rechecks` in a terminal, `magic` in a notebook, `language_server` in an
editor.

`places` finds a step in its text.
"""

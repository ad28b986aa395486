"""Derivations where they are written: in a terminal, a notebook or an editor.

`rechecks` serves the terminal, `magic` the notebook, `language_server` editors; `places` finds a step in its text.
"""

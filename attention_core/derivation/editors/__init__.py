"""Derivations where they are written: `watch` in a terminal, `magic` in a notebook, `server` in an editor.

`places` finds a step in its text.
"""

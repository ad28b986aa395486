"""Declarations, assumptions and steps read from a document.

`declare` reads "Let ..." paragraphs by `memberships`, `domains`, `definitions` and `properties`;
`premises` reads prose that assumes; `steps` makes a `step` of each relation of a display, in the scope of its words
(`scope_words`).
"""

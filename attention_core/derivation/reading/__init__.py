"""Declarations, assumptions and steps read from a document.

`declare` reads "Let ..." paragraphs by `memberships`, `domains`, `definitions` and `properties`;
`premises` reads prose that assumes; `steps` are the relations of displays, in the scope of their words
(`scope_words`).
"""

"""Declarations, assumptions and steps read from a document.

`declare` reads "Let ..." paragraphs and definitions, by `memberships`, `domains` (`spelled_domains` in words) and
`properties`; `premises` reads prose that assumes. `steps` goes through the blocks; `displays` makes a `step` of each
relation of a display, unless it only defines or restricts a symbol (`display_roles`), in the scope of its words
(`scope_words`; `sentence_caveats` for one sentence), some of which take back what was assumed (`withdrawals`).
"""

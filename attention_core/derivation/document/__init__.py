"""Documents as blocks, displays and statements with their lines.

`source` cuts a text (in any of the `forms` of formulas) into `blocks`; `display` cuts a display into `rows`,
`segments` and `pieces` as the `connectives` between them say; `sentences` cuts paragraphs.
"""

"""Documents as blocks, displays and statements with their lines.

`source` cuts a text (in any of the `forms` of formulas, its `macros` expanded) into `blocks` and their sentences;
`splitter` cuts a display into rows, `segments` and statements, as the words between them say; `display` reads these.
"""

"""One page for what several commands found: `attention-core report FILE... --out report.html`.

`parts` reads what `--json` of a command wrote and says which it was; `sections` makes the verdict and the HTML of each;
`page` joins them under one head, with contents, a legend and a few lines of script; `cli` is the command.
"""

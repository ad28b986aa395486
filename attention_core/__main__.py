"""`python -m attention_core`: the command line, where its script is not on the path."""

from __future__ import annotations

from attention_core.cli import main

if __name__ == "__main__":
    main()

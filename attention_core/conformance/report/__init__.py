"""What a run found out, which of it says most about the cause, and its forms: text, HTML, JUnit, Markdown."""

from __future__ import annotations

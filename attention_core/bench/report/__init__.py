"""What a run found: results as JSON, and as text, Markdown, pictures and one HTML page."""

from __future__ import annotations

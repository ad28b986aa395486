"""Two revisions of a repository side by side: checked out, judged, timed in turns, compared."""

from __future__ import annotations

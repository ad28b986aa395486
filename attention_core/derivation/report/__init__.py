"""Checked documents as HTML: `page`."""

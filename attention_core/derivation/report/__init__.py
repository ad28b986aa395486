"""Checked documents as HTML.

`page`, with `page_steps` and `page_conditions`.
"""

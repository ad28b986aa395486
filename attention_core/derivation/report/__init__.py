"""Checked documents as HTML.

`page`, with `page_prose`, `page_steps` and `page_conditions`.
"""

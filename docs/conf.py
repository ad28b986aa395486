"""How Sphinx builds the site; `docs/_ext/stage.py` lays out its sources first. `tox run -e docs` does both."""

from __future__ import annotations

import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "attention-core"
author = "attention-core contributors"
copyright = author
release = version = version_of("attention-core")

extensions = ["myst_parser", "sphinx_copybutton", "mathml", "law_links", "prose_columns", "reachable"]
source_suffix = {".md": "markdown"}
root_doc = "index"
smartquotes = False
exclude_patterns: list[str] = []
highlight_language = "text"
python_display_short_literal_types = True
python_maximum_signature_line_length = 72
add_module_names = False
toc_object_entries = False

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_fence_as_directive = ["math"]
myst_heading_anchors = 4

html_math_renderer = "mathml"
html_theme = "furo"
html_title = "attention-core"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_copyright = False
html_show_sourcelink = False
html_copy_source = False
copybutton_exclude = ".linenos, .gp, .go"
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

"""The documentation as a web site: `make docs`. The pages are Markdown and read well without it."""

project = "whence"
author = "the whence authors"
copyright = author
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"
html_theme = "furo"
html_title = "whence"
myst_heading_anchors = 4
myst_enable_extensions = ["deflist"]
exclude_patterns = ["_build"]

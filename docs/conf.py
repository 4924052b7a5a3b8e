"""How Sphinx builds the documentation: `make docs`, or `make pages` without running the gallery.

Everything a page needs is in the built site: no font, script or style sheet comes from a network.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from sphinx_gallery.sorting import ExplicitOrder

import lambdak
import lambdak.torch  # once, before Sphinx starts a process for each core

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "extensions"))

project = "lambdak"
author = "the lambdak developers"
copyright = "the lambdak developers"
release = version = lambdak.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "api",
    "formulas",
    "mathjax_files",
    "named_controls",
]
exclude_patterns = ["extensions", "gallery/**/*.ipynb", "gallery/**/*.md5", "gallery/**/*.zip"]
nitpicky = False  # types of signatures are names of private modules
suppress_warnings = [
    "config.cache",  # the gallery's settings hold objects
    "ref.python",  # a word in the type of a parameter, such as "rows", may also be the name of several attributes
]

# ---- Markdown ----------------------------------------------------------------------------------------------------

myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
myst_dmath_allow_digits = False  # prices in dollars are no formulas
myst_dmath_double_inline = False

# ---- docstrings --------------------------------------------------------------------------------------------------

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_class_signature = "mixed"
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
python_maximum_signature_line_length = 88
add_module_names = False
toc_object_entries_show_parents = "hide"
default_role = None

# ---- pages -------------------------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "lambdak"
html_static_path = ["_static"]
html_css_files = ["lambdak.css"]
html_js_files = [("eigenvalues.js", {"defer": "defer"})]
html_search_scorer = str(HERE / "search_order.js")
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "lambdak"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher"],
    "navigation_with_keys": False,
    "collapse_navigation": True,  # else every page repeats the whole tree
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "gallery/index": []}
templates_path = ["_templates"]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# ---- the gallery -------------------------------------------------------------------------------------------------

SECTIONS = ("estimators", "constraints", "explanations", "decisions", "exports", "deployment", "frameworks")
# Scripts write HTML reports into this folder; they are in the site as reports/, and a page shows them in a frame.
_files = HERE.parent / "build" / "gallery-files"
(_files / "reports").mkdir(parents=True, exist_ok=True)
os.environ["LAMBDAK_GALLERY_REPORTS"] = str(_files / "reports")
html_extra_path = [str(_files)]
sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"(^|/)(?!plot_)[^/]*\.py$",  # whole programs, which are linked from the guide
    "subsection_order": ExplicitOrder([f"../examples/{section}" for section in SECTIONS] + ["*"]),
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("matplotlib",),
    "capture_repr": ("_repr_html_",),  # tables and cards, as a notebook shows them
    "thumbnail_size": (400, 280),
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "write_computation_times": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1,
    "download_all_examples": True,
    "nested_sections": True,
}

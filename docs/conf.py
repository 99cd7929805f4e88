"""Configuration of the site; `make docs` builds it."""

import os
import sys
import warnings
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "_ext"))
# examples must not spend their time on threads that hinder each other
os.environ.setdefault("OMP_NUM_THREADS", "1")

import sk_equivae  # noqa: E402

project = "sk_equivae"
author = "sk_equivae developers"
copyright = author
release = sk_equivae.__version__
version = release

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.githubpages",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    # our own, in _ext
    "repository",
    "reference",
    "drawing",
    "mathml",
]
exclude_patterns = ["_build", "_ext", "**/README.rst", "**/GALLERY_HEADER.rst"]
templates_path = ["_templates"]
root_doc = "index"
default_role = "code"
suppress_warnings = [
    "config.cache",  # the configuration of the gallery holds functions
    "myst.header",  # pages of the repository begin at their own level
]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "pydata_sphinx_theme"
html_title = "sk_equivae"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "github_url": "https://github.com/sk-equivae/sk-equivae",
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "pygments_light_style": "tango",
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
}
html_sidebars = {"start/plot_start": [], "generated/changes": []}
html_math_renderer = "mathml"

sphinx_gallery_conf = {
    "examples_dirs": ["../examples/start", "../examples/gallery"],
    "gallery_dirs": ["start", "gallery"],
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "image_scrapers": ("matplotlib",),
    "doc_module": ("sk_equivae",),
    "reference_url": {"sk_equivae": None},
    "backreferences_dir": "generated/backreferences",
    "parallel": int(os.environ.get("SK_EQUIVAE_DOCS_JOBS", 2)),
    "reset_modules": ("matplotlib",),
    "min_reported_time": 1,
}

# what an example warns of would be read by its readers: it fails instead
warnings.filterwarnings("error", category=UserWarning, module="sk_equivae")

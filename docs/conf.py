"""Settings of the documentation; ``make docs`` builds it, with every warning an error."""

import ellipsoid

project = "ellipsoid"
author = "the ellipsoid developers"
project_copyright = "2026, the ellipsoid developers"
version = release = ellipsoid.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_design",
]
exclude_patterns = ["_static", "_templates"]
templates_path = ["_templates"]

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# Docstrings are written in NumPy's style; scikit-learn's own members are documented by scikit-learn.
napoleon_google_docstring = False
napoleon_use_rtype = False
autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {
    "members": True,
    "show-inheritance": False,
    "inherited-members": "BaseEstimator, ClassifierMixin, TransformerMixin, OneToOneFeatureMixin, object, tuple",
    "exclude-members": "get_metadata_routing, set_fit_request, set_output, set_partial_fit_request, set_score_request",
}

# Every cross-reference must lead somewhere. Left out are the types in docstrings, which are words rather than names
# ({"mistake", "margin"}, "float in (0, 1]"), what other libraries document, and classes that only share code.
nitpicky = True
nitpick_ignore_regex = [
    ("py:class", r"(?!ellipsoid\.[A-Z]\w*$|[A-Z][A-Za-z]+$).*"),
    ("py:class", "Models|Path|Any|RandomState|True"),
    ("py:obj", r"ellipsoid\.datasets\.\w+"),
]

# The empty line that ends an example for doctest is not shown.
highlight_options = {"python": {"stripnl": True}}

html_theme = "furo"
html_title = f"ellipsoid {release}"
html_static_path = ["_static"]
html_css_files = ["front.css"]
html_show_sphinx = False

# MathJax lies beside the pages: formulas show without a network. Version 4 would fetch its fonts from one.
mathjax_path = "vendor/mathjax/tex-svg-full.js"
mathjax3_config = {"options": {"enableMenu": False}}

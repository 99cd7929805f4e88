"""Formulas as MathML, which browsers draw without JavaScript and without a network."""

import re
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

# Brackets grow by themselves in MathML.
SIZES = re.compile(r"\\[bB]igg?[lrm]?(?![a-zA-Z])")


def to_mathml(formula: str, as_block: bool = False) -> str:
    """Return a formula of LaTeX as MathML."""
    return tex2mathml(SIZES.sub("", formula), as_block=as_block)


def _inline(self: Any, node: nodes.math) -> None:
    self.body.append(to_mathml(node.astext()))
    raise nodes.SkipNode


def _block(self: Any, node: nodes.math_block) -> None:
    self.body.append(self.starttag(node, "div", CLASS="math"))
    self.body.append(to_mathml(node.astext(), as_block=True))
    self.body.append("</div>")
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, Any]:
    """Connect to Sphinx."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}

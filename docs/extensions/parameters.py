"""Tables of the estimators' parameters, ``{parameters} SpectralRegressor``, from their signatures and docstrings."""

from __future__ import annotations

import inspect

from docutils import nodes
from docutils.statemachine import StringList
from formulas import typeset_lines
from sphinx.util.docutils import SphinxDirective

import lambdak
from lambdak.estimators.settings import parameter_texts


def rows(name: str, wanted: list[str]) -> list[tuple[str, str, str, str]]:
    """Name, default, range and text of some parameters of an estimator."""
    estimator = getattr(lambdak, name)
    texts, signature = parameter_texts(estimator), inspect.signature(estimator).parameters
    found = []
    for each in wanted or signature:
        kind, text = texts[each]
        found.append((each, repr(signature[each].default), kind.partition(", default")[0], text))
    return found


class Parameters(SphinxDirective):
    """The directive: the argument is an estimator, the option names some of its parameters."""

    required_arguments = 1
    option_spec = {"only": str}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        """A table in reStructuredText."""
        lines = [".. list-table::", "   :header-rows: 1", "   :class: parameters", "   :widths: 18 14 24 60", ""]
        lines += ["   * - parameter", "     - default", "     - may be", "     - what it does"]
        for name, default, kind, text in rows(self.arguments[0], self.options.get("only", "").split()):
            lines += [f"   * - ``{name}``", f"     - ``{default}``", f"     - {kind}"]
            first, *rest = typeset_lines(text.splitlines())
            lines += [f"     - {first}", *(f"       {line}" for line in rest)]
        box = nodes.container()
        self.state.nested_parse(StringList(["```{eval-rst}", *lines, "```"]), self.content_offset, box)
        return box.children


def setup(app) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("parameters", Parameters)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""API pages: ``{api}`` documents what a module defines, or one object, under the name that users import.

    ```{api} lambdak.torch.modules
    ```

shows the module's docstring and every public function and class of it, in the order of the source, with all their
methods, inherited ones included. What comes from PyTorch's or scikit-learn's machinery alone is not repeated here.
"""

from __future__ import annotations

import importlib
import inspect
from types import ModuleType
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from formulas import typeset_lines
from sphinx.util.docutils import SphinxDirective

# Methods of these classes are documented elsewhere: by the libraries they come from, or at the class that they read.
FOREIGN = (
    "ReprHTMLMixin", "_HTMLDocumentationLinkMixin", "_MetadataRequester", "_SetOutputMixin", "Module", "Transform",
    "ABC", "Protocol", "Generic", "tuple", "dict", "list", "str", "int", "Exception", "Function", "Sequence",
    "Mapping", "Enum", "Optimizer", "HorizonMethods",
)  # fmt: skip
ROUTING = "_request"  # scikit-learn's set_fit_request and the like


def found(path: str) -> tuple[Any, str, str]:
    """The object of a dotted path, the name of its module, and its own name, "" for a module."""
    try:
        return importlib.import_module(path), path, ""
    except ModuleNotFoundError:
        module, _, name = path.rpartition(".")
        return getattr(importlib.import_module(module), name), module, name


def public_module(obj: Any, module: str, name: str) -> str:
    """The shortest package from which the object is imported, ``lambdak`` before ``lambdak.torch.modules``."""
    parts = module.split(".")
    for length in range(1, len(parts)):
        package = ".".join(parts[:length])
        if getattr(importlib.import_module(package), name, None) is obj:
            return package
    return module


def members(module: ModuleType, wanted: list[str]) -> list[str]:
    """Public names that a module defines, in the order of the source, or those of ``__all__`` of a package."""
    if wanted:
        return wanted
    names = getattr(module, "__all__", None) if hasattr(module, "__path__") else None
    if names is not None:
        return [name for name in names if _is_documented(getattr(module, name))]
    own = {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__ and _is_documented(value)
    }
    return list(own)


def _is_documented(value: Any) -> bool:
    return inspect.isclass(value) or inspect.isroutine(value)


def entry(obj: Any, module: str, name: str) -> list[str]:
    """The autodoc directive of one object."""
    place = public_module(obj, module, name)
    if not inspect.isclass(obj):
        return [f".. autofunction:: {place}::{name}", ""]
    return [
        f".. autoclass:: {place}::{name}",
        "   :members:",
        "   :undoc-members:",
        f"   :inherited-members: {', '.join(FOREIGN)}",
        "",
    ]


class Api(SphinxDirective):
    """The directive."""

    required_arguments = 1
    option_spec = {"members": str, "no-module": lambda _: True}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        """What autodoc makes of the module's names."""
        obj, module, name = found(self.arguments[0])
        lines: list[str] = []
        if inspect.ismodule(obj):
            if "no-module" not in self.options:
                lines += [*typeset_lines(inspect.cleandoc(obj.__doc__ or "").splitlines()), ""]
            chosen = self.options.get("members", "").replace(",", " ").split()
            for each in members(obj, chosen):
                lines += entry(getattr(obj, each), module, each)
        else:
            lines += entry(obj, module, name)
        return self._parsed(lines)

    def _parsed(self, lines: list[str]) -> list[nodes.Node]:
        """reStructuredText, also on a page of Markdown."""
        from myst_parser.mocking import MockStateMachine

        markdown = isinstance(self.state_machine, MockStateMachine)
        block = StringList(["```{eval-rst}", *lines, "```"] if markdown else lines)
        box = nodes.container()
        self.state.nested_parse(block, self.content_offset, box)
        return box.children


def _skip(app: object, what: str, name: str, obj: object, skip: bool, options: object) -> bool | None:
    """Leave out what scikit-learn writes into every class to route metadata."""
    return True if name.startswith("set_") and name.endswith(ROUTING) else None


def setup(app) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("api", Api)
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

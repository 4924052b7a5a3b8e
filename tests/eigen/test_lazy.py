"""Attributes that are computed once: no lock is held meanwhile, so that a forked child can compute them too."""

from __future__ import annotations

import ast
import threading
from pathlib import Path

import lambdak
from lambdak.eigen.lazy import cached_property


class Slow:
    """Computes an attribute that can wait for another thread."""

    def __init__(self, wait=None, begun=None):
        self.wait, self.begun, self.count = wait, begun, 0

    @cached_property
    def value(self):
        self.count += 1
        if self.begun is not None:
            self.begun.set()
            self.wait.wait(30)
        return 7


def test_an_attribute_is_computed_once():
    own = Slow()
    assert (own.value, own.value, own.count) == (7, 7, 1)
    assert isinstance(Slow.value, cached_property)


def test_another_instance_does_not_wait_while_one_computes_its_attribute():
    wait, begun = threading.Event(), threading.Event()
    other = threading.Thread(target=lambda: Slow(wait, begun).value, daemon=True)
    other.start()
    assert begun.wait(30)
    found = []
    mine = threading.Thread(target=lambda: found.append(Slow().value), daemon=True)
    mine.start()
    mine.join(10)
    wait.set()
    other.join(30)
    assert found == [7]


def test_no_module_takes_the_one_with_a_lock():
    for path in Path(lambdak.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == "functools" and path.name != "lazy.py":
                assert "cached_property" not in [alias.name for alias in node.names], path

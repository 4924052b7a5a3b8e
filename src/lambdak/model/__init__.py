"""The frozen model, and what can be read off it: predictions, outputs, influence, measures."""

from lambdak.model.model import Model
from lambdak.model.outputs import Outputs
from lambdak.model.promises import Promises

__all__ = ["Model", "Outputs", "Promises"]

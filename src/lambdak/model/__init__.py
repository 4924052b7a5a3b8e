"""The frozen model, and what can be read off it: predictions, outputs, influence, measures.

Modules: ``model``; ``outputs``; ``promises``; ``eigenvalues``; ``readout``, ``output_choice`` which output is meant,
by label or position; ``families`` outputs of the same matrices; ``statements`` what promises say about matrices;
``widening`` makes them hold exactly; ``rounding`` how far a score can be off; ``influence`` proven bounds;
``importance`` mean effects; ``rows`` as users give them, with offsets and exposures; ``known_target`` what
explanations say of the target; ``metrics``; ``predictor`` single rows, as services get them; ``outward`` numbers in
print that stay true.
"""

from lambdak.model.model import Model
from lambdak.model.outputs import Outputs
from lambdak.model.promises import Promises

__all__ = ["Model", "Outputs", "Promises"]

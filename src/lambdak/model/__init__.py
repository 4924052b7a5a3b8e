"""The frozen model, and what can be read off it: predictions, outputs, influence, measures.

Modules: ``model``; ``outputs``; ``promises``; ``readout`` one output, how far its score can be off, and outputs of the
same matrices; ``output_choice`` which output is meant, by label or position; ``statements`` what promises say about
matrices; ``widening`` makes them hold exactly; ``influence`` proven bounds; ``mean_effects``; ``slopes`` proven bounds
per unit of columns; ``rows`` as users give them, with offsets and exposures; ``known_target`` what explanations say of
the target; ``level_curve`` quantiles at any level, ``calibration`` of intervals, ``distribution`` of rows of a table;
``metrics``; ``predictor`` single rows, as services get them; ``outward`` numbers in print that stay true;
``event_curves`` over time, ``step_functions`` of single rows, ``incidence`` of competing causes, ``concordance``,
``horizon`` a model of times at one time, ``horizon_status`` who had an event by then.
"""

from lambdak.model.model import Model
from lambdak.model.outputs import Outputs
from lambdak.model.promises import Promises

__all__ = ["Model", "Outputs", "Promises"]

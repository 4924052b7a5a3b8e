"""Whether predictions are as high as what was observed, as a whole and from low predictions to high ones."""

from __future__ import annotations

from lambdak.governance.performance import Segments
from lambdak.report.amounts import count, interval, number
from lambdak.report.document import Block, Gallery, Mark, Note, Paragraph, Picture, Section, Table
from lambdak.report.findings import Findings
from lambdak.report.findings.assessment import Assessment, Output
from lambdak.report.pictures import curve_png

_MOST_SHOWN = 4  # outputs whose pictures and tables are in the section
_WORDS = (
    "Rows are sorted by their prediction and cut into groups of about the same weight. In each group, the mean "
    "prediction should lie within the 95 % interval of what was observed; by chance alone, about one group in twenty "
    "lies outside."
)


def dossier(found: Findings) -> Section:
    """A picture and a table for each thing that is predicted."""
    own = found.assessment
    if own is None:
        return Section("calibration", "Calibration", (Note("Not measured: no rows with targets were given.", "open"),))
    tables = [_table(output) for output in own.outputs]
    blocks: list[Block] = [Paragraph(_WORDS), _overall(own), Gallery(tuple(map(_picture, own.outputs[:_MOST_SHOWN])))]
    return Section("calibration", "Calibration", (*blocks, *tables[:_MOST_SHOWN]), tuple(tables[_MOST_SHOWN:]))


def _overall(own: Assessment) -> Table:
    rows = []
    for output in own.outputs:
        whole = output.performance.calibration()
        bands = whole.bands
        outside = sum(_outside(bands, i) is True for i in range(len(bands)))
        exposure = bands.exposure.sum()
        rows.append((
            output.name, number(float(bands.expected.sum() / exposure)), number(float(bands.actual.sum() / exposure)),
            number(whole.balance), _slope(output), f"{outside} of {len(bands)}",
        ))  # fmt: skip
    names = (
        "",
        "Mean prediction",
        "Observed mean",
        "Observed / predicted",
        "Slope",
        "Groups outside of their interval",
    )
    return Table("Calibration as a whole", names, tuple(rows))


def _slope(output: Output) -> str:
    """Slope of observed against predicted, as text; a quantile has none, as its share is the same in all rows."""
    return "does not apply" if output.performance.task == "coverage" else number(output.performance.calibration().slope)


def _picture(output: Output) -> Picture:
    what = "lift" if output.performance.task == "coverage" else "calibration"
    caption = f"Calibration: {output.name}. With perfect calibration, observed is as predicted"
    return Picture("calibration", caption, curve_png(output.performance, what), wide=False)


def _table(output: Output) -> Table:
    bands = output.performance.lift()
    verdicts = {True: Mark("outside", "bad"), False: Mark("inside", "good"), None: "not defined"}
    rows = []
    for i, name in enumerate(bands.names):
        ends = interval(float(bands.observed_low[i]), float(bands.observed_high[i]))
        rows.append((
            name, count(bands.rows[i]), number(float(bands.predicted[i])), number(float(bands.observed[i])), ends,
            verdicts[_outside(bands, i)],
        ))  # fmt: skip
    names = ("Group", "Rows", "Mean prediction", "Observed mean", "95 % interval of observed", "Prediction is")
    return Table(f"Calibration in groups: {output.name}", names, tuple(rows), left=(0, 5))


def _outside(bands: Segments, i: int) -> bool | None:
    """Whether a prediction lies outside of the interval of what was observed; None where there is no interval."""
    if not bands.observed_low[i] <= bands.observed_high[i]:
        return None
    return not bands.observed_low[i] <= bands.predicted[i] <= bands.observed_high[i]

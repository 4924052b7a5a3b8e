"""How much the model depends on its seed."""

from __future__ import annotations

import numpy as np

from lambdak.report.amounts import number, plural, share
from lambdak.report.document import Code, Note, Paragraph, Section, Table
from lambdak.report.findings import Findings

_CALL = """model.dossier(
    "dossier.html", X_test, y_test,
    X_train=X_train, y_train=y_train,  # with sample_weight_train and offset_train, if the fit had them
    seeds=5, progress=print,
)"""


def dossier(found: Findings) -> Section:
    """The spread over seeds, or how to compute it."""
    own = found.stability
    if own is None:
        note = "Not run: it fits the model again with other seeds, and needs the training rows. This call runs it:"
        points = ("Stability over seeds was not run: it needs X_train, y_train and seeds.",)
        return Section("stability", "Stability over seeds", (Note(note, "open"), Code(_CALL, "python")), (), points)
    names = [metric.name for metric in own.metrics[0]]
    rows = []
    for i, name in enumerate(names):
        values = np.array([metrics[i].value for metrics in own.metrics])
        rows.append((name, *map(number, (values.min(), values.mean(), values.max(), values.std(ddof=1)))))
    table = Table("Metrics of the fits", ("Metric", "Least", "Mean", "Largest", "Standard deviation"), tuple(rows))
    middle, high = np.quantile(own.spread, [0.5, 0.95])
    scale = f", {share(float(middle / own.size))} of the spread of raw scores over the rows" if own.size else ""
    words = (
        f"The raw score of a row has a standard deviation over the fits of {number(float(middle))} in the middle"
        f"{scale}, and of {number(float(high))} or less for 95 % of the rows."
    )
    head = f"The model was fitted again {plural(len(own.seeds), 'time')} with the settings of section 4 and the seeds "
    seeds = ", ".join(map(str, own.seeds))
    intro = f"{head}{seeds}, and each fit was asked about the same rows."
    blocks = (Paragraph(intro), table, Paragraph(words))
    return Section("stability", "Stability over seeds", blocks)

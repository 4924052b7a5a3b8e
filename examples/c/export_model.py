"""Fit a model of wine and write it as C: wine.c and wine.h, and wine.csv with rows to try it on.

usage: python examples/c/export_model.py [folder]

The data ship with scikit-learn. ``make`` in this folder runs it, compiles main.c with what it writes, and compares.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sklearn.datasets import load_wine

from lambdak import SpectralClassifier
from lambdak.export.c import to_c

COLUMNS = ["alcohol", "color_intensity", "flavanoids", "proline"]


def main(folder: Path) -> None:
    X, y = load_wine(return_X_y=True, as_frame=True)
    table, cultivar = X[COLUMNS], y.map({0: "Barolo", 1: "Grignolino", 2: "Barbera"})
    model = SpectralClassifier(effort="fast", random_state=0).fit(table, cultivar)
    to_c(model, folder / "wine.c", explain=True)
    rows = table.iloc[::12].copy()
    rows.iloc[0, 1] = None  # a missing cell
    rows.assign(predicted=model.predict(rows)).to_csv(folder / "wine.csv", index=False)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))

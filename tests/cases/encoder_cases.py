"""Tables and strange columns to encode, and the matrix curve of an encoded row."""

import numpy as np
import pandas as pd
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lambdak.table.cells import LARGEST

quick = settings(max_examples=150, deadline=None)
weird = st.one_of(st.floats(-LARGEST, LARGEST), st.sampled_from([0.0, -0.0, 5e-324, -5e-324, LARGEST, 1.0, np.nan]))


def weird_columns(max_rows=40):
    return st.integers(1, max_rows).flatmap(lambda rows: hnp.arrays(np.float64, (rows, 1), elements=weird))


def evaluate(design, entries):
    """A(x) = Σ_s w_s C[id_s], without the constant."""
    return np.einsum("rs,rs...->r...", design.weights[:, 1:], entries[design.ids[:, 1:]])


def mixed_table(rows=300, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "smooth": rng.normal(size=rows),
            "spiky": np.where(rng.random(rows) < 0.9, 0.0, rng.lognormal(size=rows)),
            "gaps": np.where(rng.random(rows) < 0.2, np.nan, rng.integers(0, 5, rows)),
            "constant": 7.0,
            "city": rng.choice(["Bern", "Oslo", "Rome"], rows),
        }
    )
    X.loc[0, "city"] = "Ulm"
    return X

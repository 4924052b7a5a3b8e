"""One fit of TensorFlow Lattice, in an interpreter that has it: python lattice_fit.py IN.npz OUT.npz.

A calibrated linear model for shapes of single columns, and one lattice of the two columns that dominance is about, as
its premade models have them; Adam stops early on a tenth of the training rows. Columns are already numbers.
"""

from __future__ import annotations

import ast
import os
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf
import tensorflow_lattice as tfl

KNOTS, EPOCHS, PATIENCE, RATE, BATCH = 12, 300, 15, 0.02, 64
WAYS = {"Rising": ("monotonicity", 1), "Falling": ("monotonicity", -1), "Valley": ("unimodality", "valley"),
        "Peak": ("unimodality", "peak"), "Convex": ("pwl_calibration_convexity", "convex"),
        "Concave": ("pwl_calibration_convexity", "concave")}  # fmt: skip


def configured(X, asked):
    """Features with their constraints."""
    features = []
    for i in range(X.shape[1]):
        own = dict(WAYS[name] for name, columns in asked if name in WAYS and columns == [i])
        knots = np.unique(np.quantile(X[:, i], np.linspace(0, 1, KNOTS))).tolist()
        knots = knots if len(knots) > 1 else [knots[0], knots[0] + 1.0]
        for name, columns in asked:
            if name == "Dominates" and i in columns:
                own["monotonicity"] = 1
            if name == "Dominates" and i == columns[0]:
                own["dominates"] = [tfl.configs.DominanceConfig(f"x{columns[1]}", "monotonic")]
        size = 4 if "unimodality" in own else 2  # it turns at a vertex of the lattice
        features.append(tfl.configs.FeatureConfig(
            f"x{i}", pwl_calibration_input_keypoints=knots, lattice_size=size, **own))  # fmt: skip
    return features


def main():
    data = np.load(sys.argv[1])
    X, y, rows, asked = data["X"], data["y"], data["rows"], ast.literal_eval(str(data["asked"]))
    tf.keras.utils.set_random_seed(int(data["seed"]))
    center, scale = y[rows].mean(), y[rows].std()
    began = time.process_time()
    features = configured(X[rows], asked)
    small = X.shape[1] <= 8
    kind = tfl.premade.CalibratedLattice if small else tfl.premade.CalibratedLinear
    config = tfl.configs.CalibratedLatticeConfig if small else tfl.configs.CalibratedLinearConfig
    model = kind(config(feature_configs=features, output_initialization=[-2.0, 2.0]))
    held, train = rows[: len(rows) // 10], rows[len(rows) // 10 :]
    inputs = lambda own: [X[own, i].astype(np.float32)[:, None] for i in range(X.shape[1])]  # noqa: E731
    model.compile(loss="mse", optimizer=tf.keras.optimizers.Adam(RATE))
    stop = tf.keras.callbacks.EarlyStopping(patience=PATIENCE, restore_best_weights=True)
    model.fit(inputs(train), (y[train] - center) / scale, batch_size=BATCH, epochs=EPOCHS, verbose=0, callbacks=[stop],
              validation_data=(inputs(held), (y[held] - center) / scale))  # fmt: skip
    seconds = time.process_time() - began
    predicted = model.predict(inputs(np.arange(len(y))), batch_size=4096, verbose=0)[:, 0] * scale + center
    np.savez(sys.argv[2], predicted=predicted, seconds=seconds)


if __name__ == "__main__":
    main()

"""Are two versions of the library the same to the last bit? Predictions, certificates, explanations, files and exports.

    python benchmarks/same_bits.py write FOLDER     # with the version before
    python benchmarks/same_bits.py compare FOLDER   # with the version after

Twenty-four models of all kinds are fitted with fixed seeds; only what is public is called.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from lambdak import (
    SpectralClassifier,
    SpectralOrdinalClassifier,
    SpectralQuantileRegressor,
    SpectralRegressor,
    load,
)

FAST = {"effort": "fast", "random_state": 0}
X, Y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
CUTS = np.digitize(Y, np.quantile(Y, [0.25, 0.5, 0.75]))


def people(rows: int = 600, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, a number with gaps, a category with gaps and rare levels, booleans."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({
        "income": rng.gamma(2.0, 2.0, rows),
        "age": np.where(rng.random(rows) < 0.15, np.nan, rng.uniform(18, 80, rows)),
        "region": rng.choice(["north", "south", "rare", None], rows, p=[0.5, 0.295, 0.005, 0.2]).astype(object),
        "owner": rng.random(rows) < 0.5,
    })  # fmt: skip
    target = np.sqrt(table["income"]) + 0.3 * (table["region"] == "north") + rng.normal(0, 0.3, rows)
    return table, target.to_numpy()


def counts() -> SpectralRegressor:
    """Poisson with offset and weights."""
    table, target = people()
    rng = np.random.default_rng(1)
    model = SpectralRegressor("poisson", **FAST)
    weight = rng.uniform(0.5, 2.0, len(target))
    return model.fit(table, np.maximum(target, 0).round(), weight, offset=np.log(rng.uniform(0.5, 1.0, len(target))))


def continued() -> SpectralRegressor:
    """A fit, then partial_fit, then a warm start."""
    model = SpectralRegressor(**FAST).fit(X[:300], Y[:300]).partial_fit(X[300:], Y[300:])
    return model.set_params(warm_start=True, max_iter=2).fit(X, Y)


def towns(rows: int = 2000) -> tuple[pd.DataFrame, np.ndarray]:
    """People in 300 towns, each with an effect of its own."""
    table, target = people(rows)
    town = np.random.default_rng(3).integers(0, 300, rows)
    return table.assign(town=[f"t{i}" for i in town]), target + np.sin(town)


def sparse_table() -> SpectralRegressor:
    table = sparse.random_array((400, 30), density=0.2, rng=np.random.default_rng(1), format="csr")
    return SpectralRegressor(**FAST).fit(table, np.asarray(table.sum(axis=1)).ravel())


def mixed(**settings: Any) -> SpectralRegressor:
    return SpectralRegressor(**FAST | settings).fit(*people())


MODELS: dict[str, Callable[[], Any]] = {
    "balanced": lambda: SpectralRegressor(random_state=0).fit(X, Y),
    "monotone": lambda: SpectralRegressor(monotonic_cst={"bmi": 1, "bp": 1}, random_state=1).fit(X, Y),
    "capped": lambda: mixed(max_influence={"income": 0.5, "region": 0.2}, monotonic_cst={"income": 1}),
    "alpha": lambda: mixed(alpha=1.0, n_estimators=3),
    "convex": lambda: SpectralRegressor(shape="convex", monotonic_cst={"bmi": 1}, **FAST).fit(X, Y),
    "concave": lambda: SpectralRegressor(shape="concave", max_influence=200.0, **FAST).fit(X, Y),
    "capped together": lambda: mixed(max_influence={("income", "age"): 0.7}, interaction_cst=[["income", "region"]]),
    "many levels": lambda: SpectralRegressor(**FAST).fit(*towns()),
    "pooled levels": lambda: SpectralRegressor(max_categories=100, **FAST).fit(*towns()),
    "gamma": lambda: SpectralRegressor("gamma", monotonic_cst={"bmi": 1}, **FAST).fit(X, Y),
    "absolute error": lambda: SpectralRegressor("absolute_error", interaction_cst="no_interactions", **FAST).fit(X, Y),
    "linear": lambda: SpectralRegressor(n_knots=0, eig_idx=1, dim=7, **FAST).fit(X, Y),
    "huber": lambda: mixed(loss="huber", validation_fraction=0.2),
    "tweedie": lambda: SpectralRegressor("tweedie", power=1.7, **FAST).fit(X, Y),
    "quantile loss": lambda: SpectralRegressor("quantile", quantile=0.8, **FAST).fit(X, Y),
    "counts": counts,
    "continued": continued,
    "sparse": sparse_table,
    "two classes": lambda: SpectralClassifier(class_weight="balanced", **FAST).fit(
        *load_breast_cancer(return_X_y=True, as_frame=True)
    ),
    "three classes": lambda: SpectralClassifier(**FAST).fit(*load_wine(return_X_y=True, as_frame=True)),
    "capped classes": lambda: SpectralClassifier(max_influence={"hue": 1.0}, max_iter=20, **FAST).fit(
        *load_wine(return_X_y=True, as_frame=True)
    ),
    "additive classes": lambda: SpectralClassifier(dim=1, n_estimators=1, **FAST).fit(
        *load_breast_cancer(return_X_y=True, as_frame=True)
    ),
    "ordered classes": lambda: SpectralOrdinalClassifier(monotonic_cst={"bmi": 1}, **FAST).fit(X, CUTS),
    "quantiles": lambda: SpectralQuantileRegressor((0.1, 0.5, 0.9), monotonic_cst={"bmi": 1}, **FAST).fit(X, Y),
}


def rows_of(model: Any) -> Any:
    """Rows to predict: those of training where they are at hand, and others where columns are pandas'."""
    if not hasattr(model, "feature_names_in_"):
        return sparse.random_array((100, 30), density=0.3, rng=np.random.default_rng(5), format="csr")
    for table in (
        X,
        people(seed=7)[0],
        towns()[0],
        load_wine(as_frame=True).data,
        load_breast_cancer(as_frame=True).data,
    ):
        if list(table.columns) == list(model.feature_names_in_):
            return table
    raise KeyError(model.feature_names_in_)


def facts(model: Any, path: Path) -> Iterator[tuple[str, np.ndarray]]:
    """All that is compared of a model."""
    rows = rows_of(model)
    for name in ("predict", "predict_proba", "decision_function", "predict_quantiles"):
        if hasattr(model, name):
            yield name, np.asarray(getattr(model, name)(rows))
    claims = model.certify().claims
    yield "certificate", np.array([[c.value, c.margin] for c in claims], float)
    yield "decided", np.array([c.proven if hasattr(c, "proven") else c.held for c in claims])
    yield "strengths", model.feature_strengths_
    dense = rows[:20].toarray() if sparse.issparse(rows) else rows[:20]
    yield "attributions", model.explain_local(dense).attribution
    yield "effects", np.concatenate([effect.effect for effect in model.explain_global(dense).effects])
    yield "violations", np.array([check.margin for check in model.verify(dense, n=200).checks], float)
    model.save(path)
    yield "saved", np.frombuffer(path.read_bytes(), np.uint8)
    yield "text", np.frombuffer(model.to_json().encode(), np.uint8)
    yield "loaded", np.asarray(load(path).predict(rows))
    for ending in ("c", "mjs", "onnx", "sql"):
        written = path.with_suffix(f".{ending}")
        try:
            model.export(written)
        except (ValueError, NotImplementedError) as refusal:
            yield ending, np.frombuffer(str(refusal).encode(), np.uint8)
        else:
            yield ending, np.frombuffer(written.read_bytes(), np.uint8)


def main() -> None:
    mode, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    differing = 0
    for name, make in MODELS.items():
        found = dict(facts(make(), folder / f"{name}.safetensors"))
        stored = folder / f"{name}.npz"
        if mode == "write":
            np.savez(stored, **found)
            print(f"{name:16} written")
            continue
        before = np.load(stored, allow_pickle=True)
        wrong = [key for key in before if before[key].tobytes() != found[key].tobytes()]
        differing += bool(wrong)
        print(f"{name:16} {'differs: ' + ', '.join(wrong) if wrong else f'{len(found)} of {len(found)} the same'}")
    if mode == "compare":
        print(f"{len(MODELS) - differing} of {len(MODELS)} models are the same to the last bit")
        sys.exit(bool(differing))


if __name__ == "__main__":
    main()

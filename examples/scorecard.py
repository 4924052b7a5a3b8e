"""From table to scorecard: all numbers and pictures of the guide's page, on the Statlog German credit data.

usage: python examples/scorecard.py --data credit-g.parquet [--pictures docs/pictures] [--repeats 5]

The file is OpenML's "credit-g", version 1, as Parquet or CSV. Needs pandas, LightGBM, DuckDB, Node and the
extras plot, excel, fairness and dossier.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier, early_stopping
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss, roc_auc_score, roc_curve
from sklearn.model_selection import RepeatedStratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from lambdak import SpectralClassifier
from lambdak.explain.plots import save

CODES = ["installment_commitment", "residence_since", "existing_credits", "num_dependents"]
SIGNS = {"duration": -1, "credit_amount": -1}
PROTECTED = ("age", "foreign_worker")
CAP = 0.2
APPROVED = 0.7
SHOWN = ["checking_status", "duration", "credit_amount", "credit_history", "purpose", "age"]
TEXTS = {
    "checking_status": ("R01", "Balance of the checking account"),
    "duration": ("R02", "The term is too long"),
    "credit_amount": ("R03", "The amount is too high"),
    "savings_status": ("R04", "Savings"),
    "employment": ("R05", "Time in present employment"),
    "installment_commitment": ("R06", "Instalments against income"),
    "property_magnitude": ("R07", "Property that could serve as security"),
    "other_payment_plans": ("R08", "Instalment plans elsewhere"),
    "credit_history": ("R09", "Credit history"),
    "purpose": ("R10", "Purpose of the credit"),
}


def read(path: Path) -> tuple[pd.DataFrame, pd.Series]:
    """The columns that may be used, codes as categories, and the class."""
    table = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
    X = table.drop(columns=["class", "personal_status"]).astype(dict.fromkeys(CODES, "category"))
    return X, table["class"].astype(str)


def fit(X: pd.DataFrame, y: pd.Series, **options: Any) -> SpectralClassifier:
    settings = {"dim": 1, "monotonic_cst": SIGNS, "random_state": 0, **options}
    return SpectralClassifier(**settings).fit(X, y)


def logistic(X: pd.DataFrame, y: pd.Series) -> Any:
    """A ridge logistic regression on dummies, its penalty chosen by cross-validation."""
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
        remainder=StandardScaler(),
    )
    own = LogisticRegressionCV(
        Cs=10, l1_ratios=(0,), scoring="neg_log_loss", max_iter=2000, use_legacy_attributes=False
    )
    return make_pipeline(columns, own).fit(X, y)


def boosted(X: pd.DataFrame, y: pd.Series, monotone: bool) -> LGBMClassifier:
    """LightGBM as most run it: not tuned, and stopped early on a fifth of the training rows."""
    X_fit, X_stop, y_fit, y_stop = train_test_split(X, y, test_size=0.2, stratify=y, random_state=0)
    signs = [SIGNS.get(name, 0) for name in X] if monotone else None
    own = LGBMClassifier(
        n_estimators=2000, learning_rate=0.05, monotone_constraints=signs, verbosity=-1, n_jobs=1, random_state=0
    )
    return own.fit(X_fit, y_fit, eval_set=[(X_stop, y_stop)], callbacks=[early_stopping(50, verbose=False)])


def cross_validated(X: pd.DataFrame, y: pd.Series, repeats: int) -> pd.DataFrame:
    """AUC, KS and log loss of all models on the same folds: mean, and its standard deviation over the folds."""
    found: dict[str, list[tuple[float, float, float]]] = {}
    for train, test in RepeatedStratifiedKFold(n_splits=5, n_repeats=repeats, random_state=0).split(X, y):
        rows, known, good = X.iloc[train], y.iloc[train], y.iloc[test] == "good"
        additive = fit(rows, known)
        card = additive.scorecard(rows, known, time_limit=0.01)
        models = {
            "lambdak, dim 1": additive,
            "lambdak, dim 1, capped": fit(rows, known, max_influence={PROTECTED: CAP}),
            "lambdak, default": fit(rows, known, dim=None),
            "logistic regression": logistic(rows, known),
            "LightGBM": boosted(rows, known, monotone=False),
            "LightGBM, monotone": boosted(rows, known, monotone=True),
        }
        chances = {name: own.predict_proba(X.iloc[test])[:, 1] for name, own in models.items()}
        chances["scorecard of dim 1"] = 1 - card.bad_probability(X.iloc[test])
        for name, chance in chances.items():
            false, true, _ = roc_curve(good, chance)
            found.setdefault(name, []).append(
                (roc_auc_score(good, chance), float((true - false).max()), log_loss(good, chance))
            )
    values = {name: np.array(own) for name, own in found.items()}
    own = values["lambdak, dim 1"]
    return pd.DataFrame({
        name: {
            "AUC": each[:, 0].mean(), "KS": each[:, 1].mean(), "log loss": each[:, 2].mean(),
            "AUC, sd of folds": each[:, 0].std(),
            "AUC below dim 1 in": f"{(each[:, 0] < own[:, 0]).sum()} of {len(own)}",
        }
        for name, each in values.items()
    }).T  # fmt: skip


def title(text: str) -> None:
    print(f"\n=== {text} ===\n")


def show(drawn: Any, path: Path) -> None:
    save(drawn, path)
    plt.close("all")


def performance(model: SpectralClassifier, X: pd.DataFrame, y: pd.Series, folder: Path) -> None:
    title("performance on unseen rows")
    found = model.performance(X, y)
    print(found)
    _, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
    found.roc().plot(axes[0])
    found.calibration().plot(axes[1])
    show(axes[0], folder / "scorecard-performance.png")


def scorecard(model: SpectralClassifier, rows: Any, unseen: Any, folder: Path) -> Any:
    title("scorecard")
    card = model.scorecard(*rows, pdo=20, base_score=600, base_odds=50)
    print(card)
    title("cut-offs on unseen rows")
    found = card.evaluate(*unseen, score_bands=8)
    print(found, f"\nKS {found.ks:.3f} at {found.ks_score:g}, Gini {found.gini:.3f}")
    _, axes = plt.subplots(2, 3, figsize=(13, 7.2), layout="constrained")
    for name, ax in zip(SHOWN, axes.flat, strict=True):
        card.plot(name, ax)
        if name != SHOWN[0]:
            ax.get_legend().remove()
    show(axes.flat[0], folder / "scorecard-points.png")
    show(found.plot(), folder / "scorecard-cutoffs.png")
    cut = card.scale.offset + card.scale.factor * np.log(APPROVED / (1 - APPROVED))
    differ = (card.predict(unseen[0]) >= cut) != (model.predict_proba(unseen[0])[:, 1] >= APPROVED)
    print(f"cut-off {cut:.1f} points: {differ.sum()} of {len(differ)} unseen rows are decided otherwise by the model")
    rich = fit(*rows, dim=None)
    own = rich.scorecard(*rows)
    title("scorecard of the model with interactions")
    print("\n".join(own.heading()))
    return card


def reasons(model: SpectralClassifier, X: pd.DataFrame, X_train: pd.DataFrame) -> None:
    title("reasons")
    found = model.reasons(
        X, APPROVED, target="good", baseline=X_train, texts=TEXTS, exclude=PROTECTED,
        immutable=["credit_history", "purpose"],
    )  # fmt: skip
    enough = [any(reason.enough for reason in own.reasons) for own in found.declined]
    print(f"{len(found.declined)} of {len(found)} declined; one column is enough for {sum(enough)}")
    for own in found.declined[:8]:
        print(found.why(own.row))
    print(found.to_frame()[["row", "rank", "code", "value", "needed", "enough", "proven"]].head(4))


def fairness(free: SpectralClassifier, fair: SpectralClassifier, X: pd.DataFrame, y: pd.Series, folder: Path) -> None:
    for name, model in {"free": free, "capped": fair}.items():
        title(f"fairness, {name}")
        for column, other in (PROTECTED, PROTECTED[::-1]):
            found = model.fairness(X, column, y, threshold=APPROVED, target="good", proxies=[other])
            print(found, found.group_metrics(), sep="\n")
    _, axes = plt.subplots(2, 1, figsize=(7.5, 7.6), layout="constrained", sharex=True)
    for ax, (name, model) in zip(axes, {"without a cap": free, f"capped at {CAP}": fair}.items(), strict=True):
        model.fairness(X, "age", y, threshold=APPROVED, target="good").plot(ax)
        ax.set_title(f"What age does, {name}", pad=28 if ax is axes[0] else 6)
    axes[0].set_xlabel("")
    axes[1].get_legend().remove()
    show(axes[0], folder / "scorecard-fairness.png")


def drift(model: SpectralClassifier, X_train: pd.DataFrame, X_test: pd.DataFrame, folder: Path) -> None:
    title("drift: a random sample")
    print(model.drift(X_train, X_test))
    title("drift: larger credits")
    found = model.drift(X_train, X_test[X_test["credit_amount"] > 2000])
    print(found)
    show(found.plot(), folder / "scorecard-drift.png")


def documents(model: SpectralClassifier, card: Any, rows: Any, unseen: Any, folder: Path) -> None:
    """All files, and how large they are."""
    title("files")
    card.to_excel(folder / "scorecard.xlsx")
    words = {"name": "Credit risk", "purpose": "Approve or decline credits of consumers.", "owner": "Credit risk team"}
    model.save(folder / "model.safetensors")
    model.dossier(
        folder / "dossier.html", *unseen, X_train=rows[0], y_train=rows[1], seeds=3,
        model_file=folder / "model.safetensors", **words,
    )  # fmt: skip
    model.model_card(folder / "README.md", *unseen, license="cc-by-4.0", dataset="credit-g", owner="Credit risk team")
    model.export(folder / "model.sql", dialect="duckdb", table="applicants")
    model.export(folder / "model.mjs")
    for path in sorted(folder.iterdir()):
        print(f"{path.name}: {path.stat().st_size:,} bytes")
    everyone = pd.concat([rows[0], unseen[0]], ignore_index=True)
    expected = model.predict_proba(everyone)[:, 1]
    for name, own in {"DuckDB": in_duckdb, "Node": in_node}.items():
        print(f"{name}: at most {np.abs(own(folder, everyone) - expected).max():.1g} from predict_proba")


def in_duckdb(folder: Path, applicants: pd.DataFrame) -> np.ndarray:
    with duckdb.connect() as database:
        levels = applicants.select_dtypes("category").columns.difference(CODES)
        plain = applicants.astype({**dict.fromkeys(levels, str), **dict.fromkeys(CODES, int)})
        database.register("applicants", plain)
        return database.sql((folder / "model.sql").read_text()).df()["probability_good"].to_numpy()


def in_node(folder: Path, applicants: pd.DataFrame) -> np.ndarray:
    rows = applicants.to_json(orient="records")
    program = f"import {{ proba }} from './model.mjs'; console.log(JSON.stringify({rows}.map((row) => proba(row)[1])));"
    (folder / "run.mjs").write_text(program)
    found = subprocess.run(["node", "run.mjs"], cwd=folder, capture_output=True, text=True, check=True, timeout=60)
    return np.array(json.loads(found.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--pictures", type=Path, default=Path("docs/pictures"))
    parser.add_argument("--files", type=Path, help="folder for workbook, dossier and exports")
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    X, y = read(given.data)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)
    model = fit(X_train, y_train)
    print(model.certify())
    performance(model, X_test, y_test, given.pictures)
    card = scorecard(model, (X_train, y_train), (X_test, y_test), given.pictures)
    reasons(model, X_test, X_train)
    fairness(model, fit(X_train, y_train, max_influence={PROTECTED: CAP}), X_test, y_test, given.pictures)
    drift(model, X_train, X_test, given.pictures)
    with tempfile.TemporaryDirectory() as folder:
        documents(model, card, (X_train, y_train), (X_test, y_test), given.files or Path(folder))
    title("cross-validation")
    print(cross_validated(X, y, given.repeats).to_string())


if __name__ == "__main__":
    main()

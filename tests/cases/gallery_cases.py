"""Which script of the gallery shows what; the tests compare it with the library's own lists."""

from __future__ import annotations

from lambdak.losses import (
    AbsoluteError,
    BinaryLog,
    Gamma,
    Huber,
    Ordinal,
    Pinball,
    Poisson,
    Quantile,
    SoftmaxLog,
    SquaredError,
    Tweedie,
)
from lambdak.losses.event_loss import EventLog
from lambdak.losses.survival import Survival

LOSSES = {
    SquaredError: "plot_regressor",
    AbsoluteError: "plot_robust",
    Huber: "plot_robust",
    Quantile: "plot_stock",
    Poisson: "plot_counts",
    Gamma: "plot_amounts",
    Tweedie: "plot_totals",
    Pinball: "plot_quantiles",
    BinaryLog: "plot_classifier",
    SoftmaxLog: "plot_classes",
    Ordinal: "plot_ordinal",
    Survival: "plot_survival",
    EventLog: "plot_survival",
}
CONSTRAINTS = {
    "monotone": "plot_monotone",
    "influence": "plot_cap",
    "joint influence": "plot_cap_group",
    "interactions": "plot_interactions",
    "convex": "plot_shape",
    "concave": "plot_shape",
    "valley": "plot_valley",
    "peak": "plot_valley",
    "slope": "plot_slope",
    "complements": "plot_together",
    "substitutes": "plot_together",
    "anchored": "plot_anchor",
    "range": "plot_range",
    "direction": "plot_direction",
    "dominance": "plot_direction",
    "alpha": "plot_sparse",
}
EXPORTS = {
    "c": ("plot_c", ".c"),
    "java": ("plot_java", ".java"),
    "js": ("plot_javascript", ".mjs"),
    "onnx": ("plot_onnx", ".onnx"),
    "r": ("plot_r", ".R"),
    "sql": ("plot_sql", "to_sql("),
    "table": ("plot_factor_tables", ".csv"),
}
# What a script needs beyond what it imports, and the programs that it starts.
NEEDED = {
    "plot_dask": ("datasketches",),
    "plot_mlflow": ("mlflow",),
    "plot_onnx": ("onnx",),
    "plot_pipeline": ("skops",),
    "plot_save_and_sign": ("cryptography",),
}
PROGRAMS = {"plot_c": "cc", "plot_java": "javac", "plot_javascript": "node", "plot_r": "Rscript"}
LISTED = {
    "ordered categories": ("plot_ordered", "order=grades"),
    "offset": ("plot_counts", "offset=np.log("),
    "global": ("plot_global", "explain_global("),
    "why": ("plot_why", ".why("),
    "what-if": ("plot_what_if", ".what_if("),
    "interactions": ("plot_pairs", "interactions_to_frame("),
    "quantile fan": ("plot_fan", "draw_fan("),
    "report": ("plot_report", "model.report("),
    "report of a classifier": ("plot_classifier", "model.report("),
    "report of quantiles": ("plot_quantiles", "model.report("),
    "report of rates": ("plot_counts", "model.report("),
    "minimize": ("plot_best_price", "minimize("),
    "counterfactual": ("plot_recourse", ".counterfactual("),
    "inverse": ("plot_bid", ".inverse("),
    "margin": ("plot_margin", ".margin("),
    "reasons": ("plot_reasons", ".reasons("),
    "fairness": ("plot_fairness", ".fairness("),
    "factor tables": ("plot_factor_tables", ".relativities("),
    "scorecard": ("plot_scorecard", ".scorecard("),
    "save and load": ("plot_save_and_sign", "lambdak.load("),
    "sign": ("plot_save_and_sign", "sign_file("),
    "predictor": ("plot_predictor", ".predictor("),
    "checkpoint": ("plot_checkpoint", "checkpoint="),
    "dossier": ("plot_dossier", ".dossier("),
    "drift": ("plot_drift", ".drift("),
    "verify": ("plot_certificate", ".verify("),
    "independent checker": ("plot_certificate", "lambdak_check.py"),
    "pipelines": ("plot_pipeline", "make_pipeline("),
    "search": ("plot_search", "GridSearchCV("),
    "calibration": ("plot_calibration", "CalibratedClassifierCV("),
    "MAPIE": ("plot_mapie", "from mapie"),
    "SHAP": ("plot_shap", "shap."),
    "MLflow": ("plot_mlflow", "lambdak.mlflow.log_model("),
    "polars": ("plot_polars", "pl.DataFrame("),
    "Dask": ("plot_dask", "dd.from_pandas("),
    "PyTorch": ("plot_pytorch", "SpectralNeuron("),
}

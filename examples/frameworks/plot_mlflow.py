"""
Log, load and serve a model with MLflow
=======================================

*How does a model get into the registry that we have?* As a safetensors file with its signature, certificate and
report; nothing is pickled, and the settings of every fit are logged by themselves.

It needs ``pip install "lambdak[mlflow]"``.
"""

import os
import tempfile
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from lambdak import SpectralRegressor

os.environ |= {"MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_DISABLE_TELEMETRY": "true"}  # a folder instead of a server
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of MLflow, at its import
    import lambdak.mlflow
    import mlflow

mlflow.set_tracking_uri((Path(tempfile.mkdtemp()) / "runs").as_uri())
X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# %%
# Settings, losses and proven guarantees of each fit go to a run of its own.
lambdak.mlflow.autolog(log_models=False)
models = {}
for effort in ("fast", "balanced"):
    with mlflow.start_run(run_name=effort) as run:
        models[effort] = SpectralRegressor(monotonic_cst={"bmi": 1}, effort=effort, max_iter=20, random_state=0)
        models[effort].fit(X_train, y_train)
lambdak.mlflow.autolog(disable=True)
runs = mlflow.search_runs(output_format="list")
for run in runs:
    kept = {name: round(value, 3) for name, value in run.data.metrics.items()}
    print(run.info.run_name, run.data.params["monotonic_cst"], kept)

# %%
# The model that is chosen, with its report on rows that its fit did not see. The signature names every column.
with mlflow.start_run(run_name="chosen"), warnings.catch_warnings():
    warnings.simplefilter("ignore")
    info = lambdak.mlflow.log_model(
        models["balanced"], "progression", report={"X_test": X_test, "y_test": y_test, "target": "progression"}
    )
for path in sorted(Path(mlflow.artifacts.download_artifacts(info.model_uri)).rglob("*")):
    if path.is_file():
        print(f"{path.stat().st_size / 1e3:8.1f} kB  {path.name}")
print(info.signature.inputs)

# %%
# Loaded as an estimator it is the same, bit for bit; as a ``pyfunc`` it is what ``mlflow models serve`` runs.
loaded = lambdak.mlflow.load_model(info.model_uri)
print("the same, bit for bit:", bool((loaded.predict(X_test) == models["balanced"].predict(X_test)).all()))
served = mlflow.pyfunc.load_model(info.model_uri).predict(X_test)

figure, ax = plt.subplots(figsize=(5, 4), layout="constrained")
ax.plot(y_test, served, "o", color="#0072B2", markersize=4)
ax.axline((150, 150), slope=1, color="#8A8A8A", linewidth=1)
ax.set(xlabel="progression that was observed", ylabel="what the served model says", title="Served by MLflow")
plt.show()

# %%
# **Caveat.** MLflow refuses integers where a signature says double, so columns of whole numbers take any type. A
# Pipeline is logged the same way, and needs an ``input_example``.
#
# **Read on:** :doc:`/guide/mlops` also has skops, joblib, BentoML and Airflow.

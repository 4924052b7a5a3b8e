"""Methods of a fitted estimator that write files: the work is done by ``export``, ``report`` and ``store``."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lambdak.estimators.fitted import Fitted
from lambdak.model import Model
from lambdak.model.predictor import Predictor

if TYPE_CHECKING:
    from lambdak.certify import Certificate
    from lambdak.store._keys import PublicKey
    from lambdak.table.rows import Rows


class Writing(Fitted):
    """What a model is written to: programs, pages, documents and its own file. Arguments stand in groups."""

    def predictor(self) -> Predictor:
        """The model for single rows, as a service gets them, without any library for tables.

        ``predictor({"age": 31, "income": 52e3})`` is what ``predict`` says of a table with that row, bit for bit; any
        number of threads may call it: see :class:`lambdak.model.predictor.Predictor`.
        """
        return Predictor(self._fitted)

    def export(
        self, path: str | os.PathLike[str], to: str | None = None, *,
        explain: bool = False, name: str | None = None, package: str | None = None,
        dtype: str = "float64", inputs: str = "columns", offset: bool | str | None = None, missing: str | None = "",
        opset: int = 19,
        dialect: str = "duckdb", table: str | Sequence[str] = "rows", key: str | Sequence[str] | None = None,
        result: str = "prediction", prefix: str = "",
        X: Any = None, y: Any = None, exposure: Any = None, sample_weight: Any = None, form: str = "bands",
        bands: int | Mapping[str, int | Sequence[float]] = 10, two_way: Any = 0, whole: Sequence[str] | None = None,
        base: str = "largest", decimals: int | None = None, output: Any = None, time_limit: float = 10.0,
    ) -> None:  # fmt: skip
        """Write the model as C, Java, JavaScript, ONNX, R, SQL or tables, by the ending of ``path`` or by ``to``.

        Options are of one or the other: first those of programs, then of ONNX, SQL and factor tables. See
        :func:`lambdak.export.export_model`.
        """
        from lambdak.export import export_model

        export_model(
            self._fitted, path, to,
            explain=explain, name=name, package=package, dtype=dtype, inputs=inputs, offset=offset, missing=missing,
            opset=opset, dialect=dialect, table=table, key=key, result=result, prefix=prefix, X=X, y=y,
            exposure=exposure, sample_weight=sample_weight, form=form, bands=bands, two_way=two_way, whole=whole,
            base=base, decimals=decimals, output=output, time_limit=time_limit,
        )  # fmt: skip

    def report(
        self, path: str | os.PathLike[str], X: Any = None, y: Any = None, *,
        sample_weight: Any = None, offset: Any = None, exposure: Any = None,
        X_test: Any = None, y_test: Any = None, sample_weight_test: Any = None, offset_test: Any = None,
        exposure_test: Any = None,
        target: str | None = None, units: Mapping[str, str] | None = None, n_resamples: int = 200,
        random_state: int = 0, certificate: Certificate | None = None,
    ) -> Path:  # fmt: skip
        """Write one HTML file in which this model runs, with its certificate, and return its path.

        ``X`` and ``y`` are rows to start from, such as those of training; whether the fit saw them is found out, never
        assumed. ``X_test`` and ``y_test`` are rows that it did not see, on which the model is measured. See
        :func:`lambdak.report.write_report`.
        """
        from lambdak.report import write_report

        return write_report(
            self._fitted, path, X, y, sample_weight=sample_weight, offset=offset, exposure=exposure, X_test=X_test,
            y_test=y_test, sample_weight_test=sample_weight_test, offset_test=offset_test,
            exposure_test=exposure_test, target=target, units=units, n_resamples=n_resamples,
            random_state=random_state, certificate=certificate, **self._reported(),
        )  # fmt: skip

    def _reported(self) -> dict[str, Any]:
        """What a report says beside the model itself."""
        return {"effects": getattr(self, "_effects", None)}

    def dossier(
        self, path: str | os.PathLike[str], X: Any = None, y: Any = None, *,
        sample_weight: Any = None, offset: Any = None, exposure: Any = None,
        X_train: Any = None, y_train: Any = None, sample_weight_train: Any = None, offset_train: Any = None,
        exposure_train: Any = None,
        seeds: int | None = None, n_resamples: int = 200, random_state: int = 0, exact: bool = True,
        search: int | None = None, model_file: str | os.PathLike[str] | None = None,
        public_key: PublicKey | None = None, progress: Callable[[str], None] | None = None,
        name: str | None = None, version: str | None = None, purpose: str | None = None,
        intended_use: str | None = None, out_of_scope: str | None = None, owner: str | None = None,
        developer: str | None = None, reviewer: str | None = None, risk_tier: str | None = None,
        data_source: str | None = None, target_meaning: str | None = None, exclusions: str | None = None,
        alternatives: str | None = None, assumptions: str | None = None, ethical_considerations: str | None = None,
        monitored_by: str | None = None, monitored_when: str | None = None, actions: str | None = None,
        date: str | None = None,
    ) -> Path:  # fmt: skip
        """Write one document for validators, and return its path: HTML, Word or Markdown.

        ``X`` and ``y`` are rows to measure the model on; whether the fit saw them is found out, never assumed. Then
        come weights and training rows, settings of the computations, and the words of the owner: see
        :func:`lambdak.report.dossier.write_dossier`.
        """
        from lambdak.report.dossier import Refittable, write_dossier

        return write_dossier(
            Refittable(self._saved(), self._refitted), path, X, y,
            sample_weight=sample_weight, offset=offset, exposure=exposure, X_train=X_train, y_train=y_train,
            sample_weight_train=sample_weight_train, offset_train=offset_train, exposure_train=exposure_train,
            seeds=seeds, n_resamples=n_resamples, random_state=random_state, exact=exact, search=search,
            model_file=model_file, public_key=public_key, progress=progress, name=name, version=version,
            purpose=purpose, intended_use=intended_use, out_of_scope=out_of_scope, owner=owner, developer=developer,
            reviewer=reviewer, risk_tier=risk_tier, data_source=data_source, target_meaning=target_meaning,
            exclusions=exclusions, alternatives=alternatives, assumptions=assumptions,
            ethical_considerations=ethical_considerations, monitored_by=monitored_by, monitored_when=monitored_when,
            actions=actions, date=date,
        )  # fmt: skip

    def model_card(
        self, path: str | os.PathLike[str], X: Any = None, y: Any = None, *,
        license: str | None = None, tags: Sequence[str] = (), dataset: str | None = None,
        sample_weight: Any = None, offset: Any = None, exposure: Any = None,
        X_train: Any = None, y_train: Any = None, sample_weight_train: Any = None, offset_train: Any = None,
        exposure_train: Any = None,
        seeds: int | None = 0, n_resamples: int = 200, random_state: int = 0, exact: bool = True,
        search: int | None = None, model_file: str | os.PathLike[str] | None = None,
        public_key: PublicKey | None = None, progress: Callable[[str], None] | None = None,
        name: str | None = None, version: str | None = None, purpose: str | None = None,
        intended_use: str | None = None, out_of_scope: str | None = None, owner: str | None = None,
        developer: str | None = None, reviewer: str | None = None, risk_tier: str | None = None,
        data_source: str | None = None, target_meaning: str | None = None, exclusions: str | None = None,
        alternatives: str | None = None, assumptions: str | None = None, ethical_considerations: str | None = None,
        monitored_by: str | None = None, monitored_when: str | None = None, actions: str | None = None,
        date: str | None = None,
    ) -> Path:  # fmt: skip
        """Write a model card for a model hub, and return its path: see :func:`lambdak.report.dossier.write_card`.

        After what hubs ask for, arguments are those of :meth:`dossier`.
        """
        from lambdak.report.dossier import Refittable, write_card

        return write_card(
            Refittable(self._saved(), self._refitted), path, X, y,
            license=license, tags=tags, dataset=dataset, sample_weight=sample_weight, offset=offset,
            exposure=exposure, X_train=X_train, y_train=y_train, sample_weight_train=sample_weight_train,
            offset_train=offset_train, exposure_train=exposure_train, seeds=seeds, n_resamples=n_resamples,
            random_state=random_state, exact=exact, search=search, model_file=model_file, public_key=public_key,
            progress=progress, name=name, version=version, purpose=purpose, intended_use=intended_use,
            out_of_scope=out_of_scope, owner=owner, developer=developer, reviewer=reviewer, risk_tier=risk_tier,
            data_source=data_source, target_meaning=target_meaning, exclusions=exclusions, alternatives=alternatives,
            assumptions=assumptions, ethical_considerations=ethical_considerations, monitored_by=monitored_by,
            monitored_when=monitored_when, actions=actions, date=date,
        )  # fmt: skip

    def save(self, path: str | os.PathLike[str], *, training_state: bool = False) -> None:
        """Write the fitted model to one safetensors file, as a whole or not at all; :func:`lambdak.load` reads it.

        The file holds what predicts, explains and certifies, and the settings of the fit. With ``training_state`` also
        what ``partial_fit`` and ``warm_start`` need to continue, bit for bit, and ``feature_importances_``: it is then
        up to some times as large, and holds means and covariances of the training rows.
        """
        from lambdak.store import save_model

        save_model(self._saved(training_state), path)

    def to_json(self) -> str:
        """The fitted model as text to compare line by line; :func:`lambdak.from_json` reads it."""
        from lambdak.store import model_to_json

        return model_to_json(self._saved())

    def _refitted(self, seed: int, rows: Rows) -> Model:
        """A model that is fitted like this one, to these rows and with another seed."""
        raise NotImplementedError

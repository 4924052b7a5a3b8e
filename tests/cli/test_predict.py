"""``lambdak predict``: predictions are those of the library."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet
from cli_cases import done, read, refused

import lambdak


def test_predictions_are_those_of_the_library_in_every_output_format(shelf, tmp_path):
    data = pa.parquet.read_table(shelf / "rows.parquet")
    X = data.select(["income", "age", "town"])
    for stem in ("grade", "quantiles", "y", "steps"):
        model = lambdak.load(shelf / f"{stem}.safetensors")
        wanted = {"id": data["id"].to_pylist(), "town": data["town"].to_pylist()}
        wanted["prediction"] = model.predict(X).tolist()
        if stem == "quantiles":
            names = ["q_0.1", "q_0.5", "q_0.9"]
            wanted |= dict(zip(names, model.predict_quantiles(X).T.tolist(), strict=True))
        elif stem != "y":
            names = [f"p_{each}" for each in model.classes_]
            wanted |= dict(zip(names, model.predict_proba(X).T.tolist(), strict=True))
        for suffix in (".csv", ".parquet", ".jsonl"):
            out = tmp_path / f"out{suffix}"
            args = ["predict", shelf / "rows.parquet", "--model", shelf / f"{stem}.safetensors", "--keep", "id,town"]
            done([*args, "--out", out])
            text = pa.csv.ConvertOptions(column_types={"town": pa.string()})
            found = {
                ".csv": lambda: pa.csv.read_csv(out, convert_options=text),  # noqa: B023
                ".parquet": lambda: pa.parquet.read_table(out),  # noqa: B023
                ".jsonl": lambda: pa.json.read_json(out),  # noqa: B023
            }[suffix]()
            assert found.to_pydict() == wanted


def test_probabilities_and_quantiles_can_be_left_out(shelf):
    for stem, option in (("grade", "--no-proba"), ("quantiles", "--no-quantiles")):
        model = ["--model", shelf / f"{stem}.safetensors"]
        assert read(done(["predict", shelf / "rows.csv", option, *model]).stdout).column_names == ["prediction"]


def test_json_of_predict_holds_the_rows_or_says_where_they_are(shelf, tmp_path):
    args = ["predict", shelf / "rows.csv", "--model", shelf / "grade.safetensors", "--json"]
    answer = json.loads(done(args).stdout)
    assert len(answer["predictions"]) == answer["rows"] == 120
    assert set(answer["predictions"][0]) == {"prediction", "p_bad", "p_good"}
    out = tmp_path / "p.csv"
    assert json.loads(done([*args, "--out", out]).stdout)["out"] == str(out)
    assert out.exists()


def test_a_table_without_a_column_of_the_model_is_refused(shelf, tmp_path):
    (tmp_path / "less.csv").write_text("incomes,age\n1,2\n")
    message = refused(["predict", tmp_path / "less.csv", "--model", shelf / "y.safetensors"])
    assert "lacks 2 of the 3 columns that the model was fitted with: 'income', 'town'" in message
    assert "Did you mean 'incomes'?" in message

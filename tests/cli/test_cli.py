"""The command line: what it writes is what the library says, and what is wrong is told in one message."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import lambdak
from lambdak import cli
from lambdak.cli import demonstration as demo

FAST = ["--effort", "fast", "--max-iter", "3", "--dim", "3"]
BESIDE = ["id", "y", "grade", "steps", "late", "weight", "exposure"]
COMMANDS = ["demo", "fit", "predict", "explain", "certify", "report"]


def only(*used):
    """Options that leave income, age and town as the columns, towns as names, whatever else plays a part."""
    return ["--categorical", "town", "--drop", ",".join(name for name in BESIDE if name not in used)]


def table(rows=120):
    """Incomes, ages, towns with numbers for names, a mean, a class, an order and a truth value."""
    rng = np.random.default_rng(0)
    income, age = rng.uniform(1, 9, rows).round(3), rng.integers(20, 70, rows)
    town = rng.choice(["007", "012", "300"], rows)
    y = (2 * income - 0.1 * age + (town == "007") + 0.3 * rng.standard_normal(rows)).round(3)
    return pa.table({
        "id": np.arange(rows), "income": income, "age": age, "town": town, "y": y,
        "grade": np.where(y > np.median(y), "good", "bad"), "steps": np.digitize(y, [0, 6]), "late": y > 3,
        "weight": rng.uniform(0.5, 2, rows), "exposure": np.zeros(rows),
    })  # fmt: skip


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """A folder with the same table in three formats, and models of each kind."""
    folder = tmp_path_factory.mktemp("shelf")
    data = table()
    pa.csv.write_csv(data, folder / "rows.csv")
    pa.parquet.write_table(data, folder / "rows.parquet")
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in data.to_pylist()))
    for target, kind in {"y": "regression", "grade": "classification", "steps": "ordinal", "late": "auto"}.items():
        args = ["-t", target, "--task", kind, "--model", folder / f"{target}.safetensors"]
        done(["fit", folder / "rows.csv", *args, *only(target), *FAST])
    args = ["-t", "y", "--quantiles", "0.1,0.5,0.9", "--model", folder / "quantiles.safetensors"]
    done(["fit", folder / "rows.csv", *args, *only("y"), *FAST])
    return folder


def run(args):
    return CliRunner().invoke(cli.app, [str(arg) for arg in args])


def done(args):
    result = run(args)
    assert result.exit_code == 0, result.output
    return result


def refused(args, code=1):
    result = run(args)
    assert result.exit_code == code, result.output
    assert not result.stdout
    assert "Traceback" not in result.output
    words = result.stderr.translate(str.maketrans("", "", "│╭╮╰╯─"))
    return " ".join(words.split())


def process(code, *args, cwd=None, **extra):
    """The command line in a process of its own, after these lines of code."""
    # A shell that runs the tests in the background has them, and so the command, ignore interrupts.
    heard = "signal.signal(signal.SIGINT, signal.default_int_handler)"
    lines = f"import os, signal, sys\n{heard}\n{code}\nfrom lambdak import cli\ncli.main()"
    command = [sys.executable, "-c", lines, *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=120, **extra)


def read(text):
    return pa.csv.read_csv(pa.BufferReader(text.encode()))


# ---- fit -----------------------------------------------------------------------------------------------------------


def test_fit_writes_the_model_that_the_library_fits(shelf, tmp_path):
    path = tmp_path / "model.safetensors"
    asked = ["--monotone", "income=+,age=-", "--max-influence", "town=0.5", "--alpha", "0.01", "--seed", "3"]
    more = ["--weight", "weight", "--members", "2", "--loss", "huber", "--test-fraction", "0", *only("y", "weight")]
    done(["fit", shelf / "rows.csv", "--target", "y", "--model", path, *asked, *more, *FAST])
    model = lambdak.load(path)
    data = pa.parquet.read_table(shelf / "rows.parquet")
    X = data.select(["income", "age", "town"])
    same = lambdak.SpectralRegressor(
        "huber", monotonic_cst={"income": 1, "age": -1}, max_influence={"town": 0.5}, alpha=0.01, effort="fast",
        n_estimators=2, max_iter=3, dim=3, random_state=3,
    )  # fmt: skip
    same.fit(X, data["y"].to_numpy(), data["weight"].to_numpy())
    np.testing.assert_array_equal(model.predict(X), same.predict(X))


def test_fit_without_more_than_a_target_writes_the_usual_file_and_tells_what_it_did(shelf, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = done(["fit", shelf / "rows.csv", "-t", "y", "--monotone", "income=+", *only("y"), *FAST])
    assert (tmp_path / "model.safetensors").exists()
    for words in (
        "regression, because its cells are numbers",
        "96 to fit, 24 held out",
        "2 of numbers, 1 of categories, with so many levels: town (3)",
        "never falls as income rises",
        "R²",
        "model.safetensors",
    ):
        assert words in result.stdout
    assert "fitting" in result.stderr
    assert "loss" in result.stderr


@pytest.mark.parametrize("shape", ["convex", "concave"])
def test_a_shape_is_kept_and_certified(shelf, tmp_path, shape):
    path = tmp_path / "m.safetensors"
    args = ["fit", shelf / "rows.csv", "-t", "y", "--shape", shape, "--model", path, "--json", *only("y"), *FAST]
    answer = json.loads(done(args).stdout)
    assert lambdak.load(path).shape == shape
    (claim,) = answer["guarantees"]
    assert shape in claim["statement"]
    assert claim["held"]


def test_json_is_all_of_stdout_and_holds_scores_that_the_library_confirms(shelf, tmp_path):
    path = tmp_path / "m.safetensors"
    test = tmp_path / "later.parquet"
    pa.parquet.write_table(table().slice(40), test)
    args = ["fit", shelf / "rows.jsonl", "-t", "y", "--test", test, "--model", path, "--json", *only("y"), *FAST]
    answer = json.loads(done(args).stdout)
    later = pa.parquet.read_table(test)
    expected = lambdak.load(path).score(later.select(["income", "age", "town"]), later["y"].to_numpy())
    assert answer["scores"]["R²"] == pytest.approx(expected)
    assert (answer["rows"], answer["held_out_rows"], answer["epochs"]) == (120, 80, 3)
    assert answer["task"] == "regression"
    assert answer["categories"] == {"town": 3}
    assert answer["bytes"] == path.stat().st_size
    assert not answer["interrupted"]


@pytest.mark.parametrize(
    ("target", "task", "why"), [("y", "regression", "numbers"), ("grade", "classification", "text"),
                                ("late", "classification", "true or false")],
)  # fmt: skip
def test_auto_takes_text_and_truth_for_classes_and_tells_why(shelf, tmp_path, target, task, why):
    args = ["fit", shelf / "rows.parquet", "-t", target, "--model", tmp_path / "m.safetensors", "--json", *FAST]
    answer = json.loads(done(args).stdout)
    assert answer["task"] == task
    assert why in answer["why"]
    assert set(answer["scores"]) >= ({"R²"} if target == "y" else {"accuracy", "ROC AUC"})


def test_two_numbers_are_a_regression_with_a_hint(shelf, tmp_path):
    pa.csv.write_csv(pa.table({"x": np.arange(30), "y": np.arange(30) % 2}), tmp_path / "two.csv")
    result = done(["fit", tmp_path / "two.csv", "-t", "y", "--model", tmp_path / "m.safetensors", *FAST])
    assert "--task classification if they are classes" in result.stderr
    assert "no rows are held out: 6 of 30" in result.stderr
    assert "held out" not in result.stdout


def test_each_task_is_fitted_by_its_estimator(shelf):
    names = {"y": "Regressor", "grade": "Classifier", "steps": "OrdinalClassifier", "quantiles": "QuantileRegressor"}
    for stem, name in names.items():
        assert type(lambdak.load(shelf / f"{stem}.safetensors")).__name__ == f"Spectral{name}"


def test_rows_without_a_target_are_left_out_if_asked(tmp_path):
    lines = ["x,y", *(f"{i},{i}" for i in range(20)), "20,", "21,NA"]
    (tmp_path / "gaps.csv").write_text("\n".join(lines))
    args = ["fit", tmp_path / "gaps.csv", "-t", "y", "--model", tmp_path / "m.safetensors", *FAST]
    assert "missing in 2 of 22 rows" in refused(args)
    result = done([*args, "--drop-missing", "--json"])
    assert json.loads(result.stdout)["rows"] == 20


def test_an_offset_is_added_before_the_link(tmp_path):
    rng = np.random.default_rng(0)
    data = pa.table({"x": rng.uniform(size=80), "years": rng.uniform(0, 2, 80), "y": rng.poisson(3, 80)})
    pa.csv.write_csv(data, tmp_path / "rows.csv")
    path = tmp_path / "m.safetensors"
    done(["fit", tmp_path / "rows.csv", "-t", "y", "--loss", "poisson", "--offset", "years", "--model", path, *FAST])
    with_offset = read(done(["predict", tmp_path / "rows.csv", "--offset", "years", "--model", path]).stdout)
    without = read(done(["predict", tmp_path / "rows.csv", "--model", path]).stdout)
    ratio = with_offset["prediction"].to_numpy() / without["prediction"].to_numpy()
    np.testing.assert_allclose(ratio, np.exp(data["years"].to_numpy()), rtol=1e-5)


def test_a_score_that_fails_does_not_lose_the_model(shelf, tmp_path):
    path = tmp_path / "m.safetensors"
    other = table().set_column(5, "grade", pa.array(["unheard of"] * 120))
    pa.parquet.write_table(other, tmp_path / "later.parquet")
    args = ["fit", shelf / "rows.parquet", "-t", "grade", "--test", tmp_path / "later.parquet", "--model", path]
    assert "a class that the model does not know: 'unheard of'" in refused([*args, *only("grade"), *FAST])
    assert lambdak.load(path).classes_.tolist() == ["bad", "good"]


# ---- tables --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rows.parquet", "rows.jsonl"])
def test_all_formats_give_the_same_predictions(shelf, name):
    model = ["--model", shelf / "y.safetensors"]
    expected = done(["predict", shelf / "rows.csv", *model]).stdout
    assert done(["predict", shelf / name, *model]).stdout == expected
    assert len(expected.splitlines()) == 121


def test_compressed_semicolons_tabs_and_utf16_are_read_too(shelf, tmp_path):
    import gzip

    text = (shelf / "rows.csv").read_text()
    expected = done(["predict", shelf / "rows.csv", "--model", shelf / "y.safetensors"]).stdout
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "b.csv").write_text(text.replace(",", ";"))
    (tmp_path / "c.tsv").write_text(text.replace(",", "\t"))
    (tmp_path / "d.csv").write_bytes(text.encode("utf-16"))
    (tmp_path / "e.dat").write_text(text)
    for path in sorted(tmp_path.iterdir()):
        form = ["--format", "csv"] if path.suffix == ".dat" else []
        assert done(["predict", path, "--model", shelf / "y.safetensors", *form]).stdout == expected


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


def test_json_of_predict_holds_the_rows_or_tells_where_they_are(shelf, tmp_path):
    args = ["predict", shelf / "rows.csv", "--model", shelf / "grade.safetensors", "--json"]
    answer = json.loads(done(args).stdout)
    assert len(answer["predictions"]) == answer["rows"] == 120
    assert set(answer["predictions"][0]) == {"prediction", "p_bad", "p_good"}
    out = tmp_path / "p.csv"
    assert json.loads(done([*args, "--out", out]).stdout)["out"] == str(out)
    assert out.exists()


def test_names_that_look_like_numbers_stay_names(shelf, tmp_path):
    """Rows of one town only: 007 alone would be read as the number 7, and the town as unknown."""
    lines = (shelf / "rows.csv").read_text().splitlines()
    some = [lines[0], *(line for line in lines if '"007"' in line)]
    (tmp_path / "some.csv").write_text("\n".join(some).replace('"', ""))
    few = read(done(["predict", tmp_path / "some.csv", "--keep", "id", "--model", shelf / "y.safetensors"]).stdout)
    everyone = read(done(["predict", shelf / "rows.csv", "--model", shelf / "y.safetensors"]).stdout)
    expected = everyone["prediction"].to_numpy()[few["id"].to_numpy()]
    np.testing.assert_array_equal(few["prediction"].to_numpy(), expected)


def test_missing_cells_are_empty_in_and_out(shelf, tmp_path):
    (tmp_path / "gaps.csv").write_text("id,income,age,town\n1,,30,\n,5,NA,012\n")
    args = ["predict", tmp_path / "gaps.csv", "--keep", "id,town", "--model", shelf / "y.safetensors"]
    lines = done(args).stdout.splitlines()
    assert lines[1].startswith("1,,")
    assert lines[2].startswith(",012,")


# ---- what is wrong -------------------------------------------------------------------------------------------------


@pytest.fixture
def damaged(tmp_path):
    files = {
        "empty.csv": b"",
        "header.csv": b"x,y\n",
        "broken.csv": b"x,y\n1,2\n\n3\n",
        "twice.csv": b"x,x\n1,2\n",
        "latin.csv": "x,y\nété,1\nhiver,2\n".encode("latin-1"),
        "dates.csv": b"x,y\n2020-01-01,1\n2020-01-02,2\n",
        "stray.csv": b"x,y\n1,1\n2,2\n3,n.a?\n",
        "words.csv": b"x,y\n1,a\n2,b\n3,a\n",
        "broken.jsonl": b'{"x": 1, "y": 2}\n{"x": 1, y: 2}\n',
        "list.jsonl": b'{"x": 1}\n[1, 2]\n',
        "not.parquet": b"hello",
        "model.safetensors": b"hello",
        "good.csv": b"income,y\n" + b"".join(b"%d,%d\n" % (i, i) for i in range(20)),
        "good.dat": b"income,y\n1,2\n",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    return tmp_path


WRONG = [
    (["fit", "god.csv", "-t", "y"], "there is no file", "Did you mean", "good.csv"),
    (["fit", "empty.csv", "-t", "y"], "empty.csv is empty"),
    (["fit", "header.csv", "-t", "y"], "header.csv has a header but no rows"),
    (["fit", "broken.csv", "-t", "y"], "broken.csv", "line 4 has 1 cell, but the header has 2"),
    (["fit", "twice.csv", "-t", "x"], "several columns called 'x'"),
    (["fit", "latin.csv", "-t", "y"], "column 'x'", "UTF-8"),
    (["fit", "dates.csv", "-t", "y"], "column 'x'", "--drop 'x'"),
    (["fit", "stray.csv", "-t", "y"], "'n.a?' in row 2"),
    (["fit", "words.csv", "-t", "y", "--task", "regression"], "'a' in row 0", "--task classification"),
    (["fit", "words.csv", "-t", "y", "--task", "quantile"], "looks like classes", "--task classification"),
    (["fit", "broken.jsonl", "-t", "y"], "broken.jsonl", "line 2 is not JSON"),
    (["fit", "list.jsonl", "-t", "y"], "line 2 is not an object"),
    (["fit", "not.parquet", "-t", "y"], "not.parquet cannot be read as parquet"),
    (["fit", "good.csv", "-t", "incom"], "no column 'incom', which --target names", "Did you mean 'income'?"),
    (["fit", "good.csv", "-t", "y", "--monotone", "incom=+"], "which --monotone names", "Did you mean 'income'?"),
    (["fit", "good.csv", "-t", "y", "--max-influence", "z=1"], "which --max-influence names", "It has 'income'"),
    (["fit", "good.csv", "-t", "y", "--drop", "z"], "which --drop names"),
    (["fit", "good.csv", "-t", "y", "--weight", "z"], "which --weight names"),
    (["fit", "good.csv", "-t", "y", "--drop", "income"], "no column left"),
    (["fit", "good.csv", "-t", "y", "--model", "nowhere/m.safetensors"], "a folder that exists", "mkdir -p"),
    (["fit", "words.csv", "-t", "y", "--monotone", "x=+", "--task", "classification", "--categorical", "x"],
     "--monotone of column 'x' must be 0, because it is a category"),
    (["predict", "good.csv", "--model", "none.safetensors"], "no model file", "lambdak fit"),
    (["predict", "good.csv", "--model", "model.safetensors"], "model.safetensors"),
    (["report", "--model", "none.safetensors"], "no model file"),
    (["explain", "--model", "none.safetensors"], "no model file"),
    (["certify", "--model", "none.safetensors"], "no model file"),
]  # fmt: skip


@pytest.mark.parametrize("case", WRONG, ids=lambda case: " ".join(case[0]))
def test_wrong_data_is_told_in_one_message_and_exit_code_1(damaged, monkeypatch, case):
    monkeypatch.chdir(damaged)
    args, *words = case
    message = refused([*args, "--max-iter", "1"] if args[0] == "fit" else args)
    assert "error: " in message
    for each in words:
        assert each in message


MISUSED = [
    (["fit", "good.csv"], "--target"),
    (["fit"], "TABLE"),
    (["nonsense"], "No such command"),
    (["fit", "good.csv", "-t", "y", "--nonsense"], "No such option"),
    (["fit", "good.csv", "-t", "y", "--monotone", "income"], "--monotone", "such as income=+"),
    (["fit", "good.csv", "-t", "y", "--monotone", "income=up"], "--monotone", "such as income=+"),
    (["fit", "good.csv", "-t", "y", "--monotone", "income=+,income=-"], "'income' must be given once"),
    (["fit", "good.csv", "-t", "y", "--max-influence", "income=x"], "--max-influence"),
    (["fit", "good.csv", "-t", "y", "--max-influence", "x"], "--max-influence"),
    (["fit", "good.csv", "-t", "y", "--shape", "round"], "--shape", "convex"),
    (["fit", "good.csv", "-t", "y", "--loss", "nice"], "--loss", "poisson"),
    (["fit", "good.csv", "-t", "y", "--quantiles", "1.5"], "--quantiles", "between 0 and 1"),
    (["fit", "good.csv", "-t", "y", "--quantiles", "0.5", "--loss", "huber"], "--loss", "the task is quantile"),
    (["fit", "words.csv", "-t", "y", "--loss", "huber"], "--loss", "the task is classification"),
    (["fit", "good.dat", "-t", "y"], "does not tell its format", "--format"),
    (["explain", "--row", "0"], "--row", "TABLE"),
    (["explain", "--local"], "--local", "TABLE"),
    (["certify", "--within", "income"], "--within", "such as income=1000"),
    (["report", "--target", "y"], "--target", "TABLE"),
]


@pytest.mark.parametrize("case", MISUSED, ids=lambda case: " ".join(case[0]))
def test_wrong_usage_is_exit_code_2(damaged, monkeypatch, case):
    monkeypatch.chdir(damaged)
    args, *words = case
    message = refused(args, code=2)
    for each in words:
        assert each in message


def test_a_table_without_a_column_of_the_model_is_refused(shelf, tmp_path):
    (tmp_path / "less.csv").write_text("incomes,age\n1,2\n")
    message = refused(["predict", tmp_path / "less.csv", "--model", shelf / "y.safetensors"])
    assert "lacks 2 of the 3 columns that the model was fitted with: 'income', 'town'" in message
    assert "Did you mean 'incomes'?" in message


def test_debug_lets_the_exception_through(tmp_path, monkeypatch):
    args = ["fit", tmp_path / "none.csv", "-t", "y"]
    assert isinstance(run(["--debug", *args]).exception, ValueError)
    assert isinstance(run(args).exception, SystemExit)
    monkeypatch.setenv("LAMBDAK_DEBUG", "1")
    with pytest.raises(ValueError, match="there is no file"):
        raise run(args).exception


def test_without_pyarrow_it_says_what_to_install(shelf):
    shown = process("sys.modules['pyarrow'] = None", "predict", shelf / "rows.csv", "--model", shelf / "y.safetensors")
    assert shown.returncode == 1
    assert "pip install 'lambdak[tables]'" in shown.stderr
    assert "Traceback" not in shown.stderr


GONE = """
class Gone:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("pandas", "polars", "matplotlib"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Gone())
"""


def test_pyarrow_alone_suffices(shelf):
    shown = process(GONE, "predict", shelf / "rows.jsonl", "--model", shelf / "y.safetensors", "--keep", "town")
    assert shown.returncode == 0, shown.stderr
    assert len(shown.stdout.splitlines()) == 121


# ---- interrupts and half-written files -----------------------------------------------------------------------------

EPOCH = """
from lambdak.training import session as fitting
class Interrupted(fitting.Trainer):
    def run(self, schedule):
        for epoch, event in enumerate(super().run(schedule)):
            yield event
            if epoch == {epoch} and schedule.epochs == 50:
                os.kill(os.getpid(), signal.SIGINT)
fitting.Trainer = Interrupted
"""


def test_an_interrupted_fit_keeps_the_best_so_far_and_says_so(shelf, tmp_path):
    args = ["fit", shelf / "rows.csv", "-t", "y", *only("y"), "--effort", "fast", "--max-iter", "50", "--dim", "3"]
    stopped = process(EPOCH.format(epoch=4), *args, "--json", cwd=tmp_path)
    assert stopped.returncode == 0, stopped.stderr
    answer = json.loads(stopped.stdout)
    assert answer["interrupted"]
    assert answer["epochs"] == 5
    assert "the training was interrupted: the model is the best one so far" in stopped.stderr
    data = table().select(["income", "age", "town"])
    assert np.isfinite(lambdak.load(tmp_path / "model.safetensors").predict(data)).all()


def test_an_interrupt_elsewhere_is_exit_code_130_and_one_line(shelf, tmp_path):
    code = "from lambdak.cli import tables; tables.read = lambda *_, **__: os.kill(os.getpid(), signal.SIGINT)"
    stopped = process(code, "fit", shelf / "rows.csv", "-t", "y", cwd=tmp_path)
    assert stopped.returncode == 130
    assert stopped.stderr.splitlines() == ["error: interrupted: no further file was written"]
    assert not stopped.stdout
    assert not list(tmp_path.iterdir())


KILLED = """
from lambdak import atomic
def half(path, data):
    path.write_bytes(data[: len(data) // 2])
    os.kill(os.getpid(), signal.SIGKILL)
atomic._write_through = half
"""
OUTPUTS = {
    "model.safetensors": ["fit", "rows.csv", "-t", "y", *only("y"), *FAST, "--model", "model.safetensors"],
    "out.csv": ["predict", "rows.csv", "--model", "y.safetensors", "--out", "out.csv"],
    "out.parquet": ["predict", "rows.csv", "--model", "y.safetensors", "--out", "out.parquet"],
    "out.jsonl": ["predict", "rows.csv", "--model", "y.safetensors", "--out", "out.jsonl"],
    "certificate.json": ["certify", "--model", "y.safetensors", "--out", "certificate.json"],
    "columns.csv": ["explain", "rows.csv", "--model", "y.safetensors", "--out", "columns.csv"],
    "columns.png": ["explain", "rows.csv", "--model", "y.safetensors", "--plot", "columns.png"],
    "report.html": ["report", "rows.csv", "--model", "y.safetensors"],
}


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize("name", OUTPUTS)
def test_a_command_that_is_killed_while_it_writes_leaves_the_old_file(shelf, tmp_path, name):
    for each in ("rows.csv", "y.safetensors"):
        (tmp_path / each).write_bytes((shelf / each).read_bytes())
    (tmp_path / name).write_text("good")
    killed = process(KILLED, *OUTPUTS[name], cwd=tmp_path)
    assert killed.returncode == -9, killed.stderr
    assert (tmp_path / name).read_text() == "good"


def test_a_reader_that_has_enough_ends_the_command_quietly(shelf):
    command = f"{sys.executable} -c 'from lambdak import cli; cli.main()' predict {shelf / 'rows.csv'} --model "
    shown = subprocess.run(
        f"{command}{shelf / 'y.safetensors'} | head -n 1", shell=True, capture_output=True, text=True
    )
    assert shown.stdout == "prediction\n"
    assert "Traceback" not in shown.stderr


# ---- reading a model -----------------------------------------------------------------------------------------------


def test_explain_is_the_explanation_of_the_library(shelf, tmp_path):
    model, X = lambdak.load(shelf / "y.safetensors"), table().select(["income", "age", "town"])
    args = ["explain", shelf / "rows.parquet", "--model", shelf / "y.safetensors"]
    for option, frame in (([], model.explain_global(X)), (["--local"], model.explain_local(X))):
        done([*args, *option, "--out", tmp_path / "e.parquet"])
        expected = frame.to_frame().to_pydict()
        found = pa.parquet.read_table(tmp_path / "e.parquet").to_pydict()
        assert {name: list(map(str, cells)) for name, cells in found.items()} == {
            name: list(map(str, cells)) for name, cells in expected.items()
        }
    told = done(["explain", "--model", shelf / "y.safetensors"]).stdout
    assert "proven: no change of the column moves a score by more" in " ".join(told.split())
    assert all(name in told for name in ("income", "age", "town"))


def test_one_row_is_explained_in_words_and_drawn(shelf, tmp_path):
    model, X = lambdak.load(shelf / "grade.safetensors"), table().select(["income", "age", "town"])
    args = ["explain", shelf / "rows.csv", "--model", shelf / "grade.safetensors", "--row", "7"]
    words = model.explain_local(X).why(7)
    assert done([*args, "--plot", tmp_path / "w.png"]).stdout.strip() == words
    assert (tmp_path / "w.png").read_bytes().startswith(b"\x89PNG")
    answer = json.loads(done([*args, "--json"]).stdout)
    assert answer["why"] == words
    assert {each["row"] for each in answer["explanation"]} == {7}
    assert "--row must be in [0, 120)" in refused([*args[:-1], "120"])


def test_the_output_to_explain_can_be_chosen(shelf):
    args = ["explain", shelf / "rows.csv", "--model", shelf / "quantiles.safetensors", "--row", "0", "--json"]
    found = [json.loads(done([*args, "--output", i]).stdout)["explanation"][0]["output"] for i in range(3)]
    assert found == ["quantile 0.1", "quantile 0.5", "quantile 0.9"]


def test_certify_prints_proves_and_writes(shelf, tmp_path):
    path, out = shelf / "quantiles.safetensors", tmp_path / "c.json"
    args = ["certify", "--model", path, "--within", "income=1.5,town=any", "--verify", shelf / "rows.csv"]
    args += ["--pairs", "500", "--out", out]
    told = done(args).stdout
    assert "a higher quantile is never below a lower one" in told
    assert "0 violations" in told
    answer = json.loads(done([*args, "--json"]).stdout)
    assert answer == json.loads(out.read_text())
    model = lambdak.load(path)
    assert answer["claims"] == model.certify({"income": 1.5, "town": "any"}).to_dict()["claims"]
    assert answer["verification"]["violations"] == 0


def test_certify_exits_with_1_if_something_asked_for_is_not_held(shelf, monkeypatch):
    monkeypatch.setattr("lambdak.certify.claims.Certificate.holds", False)
    result = run(["certify", "--model", shelf / "y.safetensors", "--json"])
    assert result.exit_code == 1
    assert not json.loads(result.stdout)["holds"]
    assert "does not hold what was asked of it" in result.stderr


def test_report_is_one_page_with_metrics_if_there_is_a_target(shelf, tmp_path):
    out = tmp_path / "r.html"
    args = ["report", shelf / "rows.csv", "--model", shelf / "y.safetensors", "--out", out]
    answer = json.loads(done([*args, "--target", "y", "--json"]).stdout)
    assert answer["bytes"] == out.stat().st_size
    assert out.read_text().lstrip().lower().startswith("<!doctype html>")
    assert "open it in a browser" in done(args).stdout
    assert "which --target names" in refused([*args, "--target", "z"])


# ---- help ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_page_has_examples(command):
    text = done([command, "--help"]).stdout
    assert "Example" in text
    assert f"lambdak {command}" in text


def test_help_lists_the_commands():
    text = done(["--help"]).stdout
    assert all(command in text for command in COMMANDS)


def test_version_and_config():
    assert done(["--version"]).stdout.strip() == f"lambdak {lambdak.__version__}"
    assert "kernel" in done(["config"]).stdout


def completed(words):
    env = {"_LAMBDAK_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    return CliRunner().invoke(cli.app, [], prog_name="lambdak", env=env).stdout.split()


def test_shells_complete_commands_options_and_choices():
    assert set(completed("lambdak ")) >= set(COMMANDS)
    assert completed("lambdak pre") == ["predict"]
    assert completed("lambdak fit --mono") == ["--monotone"]
    assert completed("lambdak fit --shape con") == ["convex", "concave"]


def test_the_installed_script_completes_and_shows_how():
    script = Path(sys.executable).parent / "lambdak"
    env = os.environ | {"_LAMBDAK_COMPLETE": "complete_bash", "COMP_WORDS": "lambdak certi", "COMP_CWORD": "1"}
    assert subprocess.run([script], env=env, capture_output=True, text=True).stdout.split() == ["certify"]
    shown = subprocess.run([script, "--show-completion", "bash"], capture_output=True, text=True)
    assert "_LAMBDAK_COMPLETE" in shown.stdout


# ---- examples ------------------------------------------------------------------------------------------------------

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "command-line.md"
HELP = [
    *cli.fit.EXAMPLES, *cli.predict.EXAMPLES, *cli.read.EXPLAIN_EXAMPLES, *cli.read.CERTIFY_EXAMPLES,
    *cli.read.REPORT_EXAMPLES,
]  # fmt: skip


def shell_lines(page):
    blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    """The folder that the demo writes, but for its pictures."""
    folder, patients = tmp_path_factory.mktemp("clinic"), demo.patients()
    assert dict(cli.demo._files(patients, demo.fitted(patients, "fast"), folder))
    return folder


def test_the_guide_shows_the_commands_in_the_folder_of_the_demo():
    assert shell_lines(GUIDE)[:2] == ["lambdak demo", "cd lambdak-demo"]
    assert {line.split()[1] for line in shell_lines(GUIDE)} >= set(COMMANDS)


@pytest.mark.parametrize("line", dict.fromkeys([*HELP, *shell_lines(GUIDE)[2:]]))
def test_examples_of_help_and_guide_run(clinic, monkeypatch, line):
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(clinic)
    args = shlex.split(line)
    typed = None
    if "<" in args:
        typed = Path(args.pop()).read_text()
        args.pop()
    quick = ["--max-iter", "1"] if args[1] == "fit" else ["--pairs", "500"] if "--verify" in args else []
    result = CliRunner().invoke(cli.app, [*args[1:], *quick], input=typed)
    assert result.exit_code == 0, result.output


def test_every_option_in_the_guide_exists():
    helps = {command: done([command, "--help"]).stdout for command in COMMANDS}
    for option in re.findall(r"--[a-z][a-z-]+", GUIDE.read_text()):
        assert option in ("--help", "--install-completion", "--debug") or any(option in text for text in helps.values())

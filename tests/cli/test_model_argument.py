"""A model file by its place or with ``--model``, in every command."""

from __future__ import annotations

import json

import pytest
import typer
from fitted_models import X, fitted
from typer.testing import CliRunner

from lambdak import cli
from lambdak.cli.model_argument import named, placed


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("models")
    fitted("regressor").save(place / "tariff.safetensors")
    X.to_csv(place / "rows.csv", index=False)
    return place


def run(*words):
    result = CliRunner().invoke(cli.app, [*map(str, words)])
    assert result.exit_code == 0, result.output
    return result.output


def test_certify_predict_and_export_take_the_model_in_either_way(folder):
    model, rows = folder / "tariff.safetensors", folder / "rows.csv"
    assert run("certify", model, "--json") == run("certify", "--model", model, "--json")
    one, other = (folder / f"{name}.csv" for name in ("one", "other"))
    run("predict", rows, model, "--out", one)
    run("predict", rows, "--model", model, "--out", other)
    assert one.read_text() == other.read_text()
    texts = []
    for words in ([model], ["--model", model]):
        run("export", *words, "--to", "c", "--out", folder / "tariff.c")
        texts.append((folder / "tariff.c").read_text())
    assert texts[0] == texts[1]


def test_verify_signature_takes_the_option_too(folder):
    model = folder / "tariff.safetensors"
    for words in ([model], ["--model", model], ["-m", model], [f"--model={model}"]):
        result = CliRunner().invoke(cli.app, ["verify-signature", *map(str, words)])
        assert "is not signed" in " ".join(result.output.split()), result.output


@pytest.mark.parametrize("name", sorted(command.callback.__name__ for command in cli.app.registered_commands))
def test_every_command_that_reads_a_model_has_the_class_that_takes_both(name):
    command = next(own for own in cli.app.registered_commands if own.callback.__name__ == name)
    assert (command.cls is cli.ModelCommand) == (name != "fit")


def test_a_model_that_is_given_twice_is_refused():
    with pytest.raises(typer.BadParameter, match=r"give the model file once; got b\.safetensors and --model a\.safet"):
        named(["--model", "a.safetensors", "b.safetensors"], {"--model"})


def test_values_of_options_stay_where_they_are():
    args = ["rows.csv", "--out", "new.safetensors", "-m", "a.safetensors"]
    assert named(args, {"--out", "-m", "--model"}) == args
    assert placed(["a.safetensors", "--key", "k"]) == ["a.safetensors", "--key", "k"]
    assert placed([]) == named([], {"--model"}) == []


def test_json_is_the_same_whichever_way(folder):
    assert json.loads(run("certify", folder / "tariff.safetensors", "--json"))["holds"] is True

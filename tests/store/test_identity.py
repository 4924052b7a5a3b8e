"""Whether a file holds a model, whatever else is in it."""

from __future__ import annotations

import pytest
from fitted_models import fitted

import lambdak
from lambdak.store import ModelFileError, checksum_in_file, model_checksum


def test_the_checksum_is_that_of_the_file(tmp_path):
    model, path = fitted("regressor"), tmp_path / "model.safetensors"
    model.save(path)
    assert checksum_in_file(path, model._saved()) == model_checksum(model._saved())
    assert model_checksum(lambdak.load(path)._saved()) == model_checksum(model._saved())


def test_training_state_beside_the_model_does_not_matter(tmp_path):
    model, path = fitted("regressor"), tmp_path / "model.safetensors"
    model.save(path, training_state=True)
    assert checksum_in_file(path, model._saved()) != model_checksum(model._saved())  # it is that of the whole file


def test_another_model_and_a_damaged_file_are_refused(tmp_path):
    path = tmp_path / "model.safetensors"
    fitted("free").save(path)
    with pytest.raises(ValueError, match="must hold this model; it holds another one"):
        checksum_in_file(path, fitted("regressor")._saved())
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match="cannot read"):
        checksum_in_file(path, fitted("free")._saved())

"""The grids of the synthetic studies.

Tests ``profiles``.
"""

from __future__ import annotations

import json

import pytest

from lambdak.paper.profiles import PROFILES
from lambdak.paper.synthetic.grid import AS_WRITTEN, BEYOND, FITS, STUDIES, Grid, study


@pytest.mark.parametrize("name", STUDIES | AS_WRITTEN | BEYOND)
def test_a_grid_survives_json_and_has_cells_of_its_own_names(name):
    for profile in PROFILES:
        grid = study(name, profile)
        assert Grid.from_dict(json.loads(json.dumps(grid.to_dict()))) == grid
        cells = list(grid.cells())
        assert len({cell.name for cell in cells}) == len(cells)
        assert {cell.fit for cell in cells} <= set(FITS)


def test_the_papers_studies_have_its_number_of_models():
    for grid in STUDIES.values():
        assert len(list(grid.cells())) * grid.models == 41_472


def test_larger_profiles_train_more_models():
    counts = [len(list(study("univariate", p).cells())) * study("univariate", p).models for p in PROFILES]
    assert counts == sorted(counts)
    assert len(set(counts)) == 3

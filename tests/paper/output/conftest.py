"""Finished studies, run once for all tables and figures; libraries are imported where tests were not skipped."""

from __future__ import annotations

import pytest


def run_quick(names, out):
    """Run the quick profile of synthetic studies."""
    from lambdak.paper.synthetic.results import run_study

    for name in names:
        for _ in run_study(name, "quick", out):
            pass


def write_times(folder, name):
    """A second per sample, times the dim."""
    from lambdak.paper.synthetic.grid import study

    cells = study(name, "quick").cells()
    (folder / "times.csv").write_text("fit,dim,seconds\n" + "".join(f"{c.fit},{c.dim},{c.dim}\n" for c in cells))


@pytest.fixture(scope="session")
def synthetic_studies(tmp_path_factory):
    """The folder of the paper's synthetic studies."""
    from lambdak.paper.synthetic.grid import STUDIES

    out = tmp_path_factory.mktemp("studies")
    run_quick(STUDIES, out)
    return out


@pytest.fixture(scope="session")
def all_studies(tmp_path_factory):
    """The folder of all studies, those of real data with invented losses."""
    from paper_files import write_influence, write_real_results, write_tightness

    from lambdak.paper.real.protocol import DATASETS
    from lambdak.paper.synthetic.grid import BEYOND, STUDIES

    out = tmp_path_factory.mktemp("studies")
    run_quick(STUDIES | BEYOND, out)
    for name in BEYOND:
        write_times(out / f"{name}-quick", name)
    for name in DATASETS:
        write_real_results(out, name)
    write_influence(out)
    write_tightness(out)
    return out


@pytest.fixture(scope="session")
def real_results(tmp_path_factory):
    """The folder of the studies of real data, with invented losses."""
    from paper_files import write_influence, write_real_results, write_tightness

    from lambdak.paper.real.protocol import DATASETS

    folder = tmp_path_factory.mktemp("studies")
    for name in DATASETS:
        write_real_results(folder, name)
    write_influence(folder)
    write_tightness(folder)
    return folder

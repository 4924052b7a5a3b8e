"""The demonstration: its curves against NumPy, its fits against the truth, and the command that shows them."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import lambdak
from lambdak import cli, demo


def test_gallery_curves_are_the_eigenvalues_in_order_with_their_shapes():
    curves = demo.gallery(5, definite=False)
    assert curves.values.shape == (5, len(curves.x))
    assert (np.diff(curves.values, axis=0) >= -1e-12).all()
    assert (np.diff(curves.values[0], 2) <= 1e-9).all()  # the first is concave
    assert (np.diff(curves.values[-1], 2) >= -1e-9).all()  # the last is convex
    # A(x) is affine, so the trace is a straight line: an oracle that no eigenvalue routine touches
    assert np.abs(np.diff(curves.values.sum(axis=0), 2)).max() < 1e-9


def test_gallery_with_a_semidefinite_slope_never_falls():
    assert (np.diff(demo.gallery(6, definite=True).values, axis=1) >= -1e-9).all()
    assert (np.diff(demo.gallery(6, definite=False).values, axis=1) < -1e-3).any()


def test_a_larger_dim_finds_the_curve_that_a_small_one_cannot():
    data = demo.noisy_curve()

    def distance(dim):
        *_, last = demo.fit_curve(data, dim, steps=1500)
        assert last.dim == dim
        return np.sqrt(np.mean((last(data.grid[:, None]) - data.truth) ** 2))

    small, large = distance(3), distance(15)
    assert large < 0.05
    assert large < small / 4


def test_timing_leaves_the_thread_count_as_it_was():
    before = lambdak.get_num_threads()
    speed = demo.kernel_speed(3, np.float32, batch=64, repeats=1)
    assert lambdak.get_num_threads() == before
    assert min(speed.one_thread, speed.all_threads, speed.lapack) > 0


def test_demo_command_writes_its_pictures_and_prints_its_tables(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.setattr(cli, "STEPS", 200)
    result = CliRunner().invoke(cli.app, ["demo", "--out", str(tmp_path / "new"), "--no-speed"])
    assert result.exit_code == 0, result.output
    assert "RMSE to the true curve" in result.output
    names = {"gallery-5x5.png", "gallery-6x6-psd.png", "noisy-curve.png"}
    assert {path.name for path in (tmp_path / "new").iterdir()} == names
    for path in (tmp_path / "new").iterdir():
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.name in result.output.replace("\n", "")


def test_config_command_prints_the_kernel():
    result = CliRunner().invoke(cli.app, ["config"])
    assert result.exit_code == 0
    assert "kernel" in result.output


def test_help_lists_the_commands_and_an_unknown_one_is_refused():
    runner = CliRunner()
    assert "demo" in runner.invoke(cli.app, ["--help"]).output
    assert runner.invoke(cli.app, ["nonsense"]).exit_code == 2


def test_demo_without_matplotlib_says_what_to_install():
    code = "import sys; sys.modules['matplotlib'] = None; from lambdak.cli import app; app(['demo'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "pip install 'lambdak[plot]'" in done.stdout

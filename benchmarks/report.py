"""How fast the HTML report opens and follows a slider, in a headless Chromium.

usage: python benchmarks/report.py [--columns 60] [--dim 31] [--members 2] [--moves 40]

"load" is from opening the file to the first waterfall drawn, in wall time and in CPU time of the page's main thread;
"number" is from the event of a slider to the new prediction in the page, "charts" the drawing of the waterfall in the
frame after it, "search" the work of finding what would change the prediction, in slices between frames, for the
prediction 1.5, about a standard deviation away. The budget of a move is one frame at 60 Hz (16 ms) for the number, 100
ms for charts. Bounds and curves follow when the slider rests, a few in each frame. Needs playwright and a Chromium.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, sync_playwright

from lambdak import SpectralRegressor

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
MOVE = """value => new Promise((done) => {
  const slider = document.querySelector('.control input[type=range]');
  slider.value = value;
  slider.dispatchEvent(new Event('input', {bubbles: true}));
  const panel = document.querySelector('#decision-body');
  const look = () => (panel.getAttribute('aria-busy') === 'false'
    ? done([lambdak.lastUpdateMs, lambdak.lastDrawMs, lambdak.lastSearchMs]) : setTimeout(look, 20));
  setTimeout(look, 150);
})"""


def written(path: Path, columns: int, dim: int, members: int) -> SpectralRegressor:
    """The report of a model that has hardly been trained: only its size matters."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, columns))
    y = X[:, 0] + np.sin(X[:, 1]) + rng.normal(size=len(X))
    model = SpectralRegressor(dim=dim, n_estimators=members, max_iter=1, random_state=0).fit(X, y)
    model.report(path, X, y)
    return model


def load_seconds(page: Page, path: Path) -> tuple[float, float]:
    """Seconds until the page is there, and those that its main thread was busy."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    began = time.perf_counter()
    page.goto(path.as_uri())
    page.locator("#shares-chart svg").wait_for()
    seconds = time.perf_counter() - began
    found = {metric["name"]: metric["value"] for metric in session.send("Performance.getMetrics")["metrics"]}
    return seconds, found["TaskDuration"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("columns", 60), ("dim", 31), ("members", 2), ("moves", 40)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as engine:
        path = Path(folder) / "report.html"
        written(path, args.columns, args.dim, args.members)
        browser = engine.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1200, "height": 900})
        loads = np.array([load_seconds(page, path) for _ in range(6)])
        page.wait_for_timeout(1000)
        page.fill("#goal-number", "1.5")
        moves = np.array([page.evaluate(MOVE, x) for x in np.linspace(-1, 1, args.moves)])
        size = path.stat().st_size / 1e6
        browser.close()
    print(f"{args.columns} columns, dim {args.dim}, {args.members} members, file of {size:.1f} MB")
    print(f"{'':22s}{'first':>10s}{'median':>10s}{'worst':>10s}")
    names = ("load, s", "load, s of CPU", "number, ms", "charts, ms", "search, ms")
    for name, times in zip(names, (*loads.T, *moves.T), strict=True):
        print(f"{name:22s}{times[0]:10.2f}{np.median(times):10.2f}{times.max():10.2f}")


if __name__ == "__main__":
    main()

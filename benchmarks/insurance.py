"""Run the code of docs/guide/insurance.md on the real table, print what it prints and draw its pictures.

usage: python benchmarks/insurance.py [--data DIR] [--out docs/pictures]

Needs pandas, matplotlib and plotly; takes about a minute.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from types import SimpleNamespace

import matplotlib as mpl
import pandas as pd
import sklearn.datasets

mpl.use("Agg")
from matplotlib import pyplot as plt

from lambdak.explain.plots import png

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "guide" / "insurance.md"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder with the Parquet files"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "pictures", help="folder for the pictures")
    arguments = parser.parse_args()
    table = pd.read_parquet(arguments.data / "fremtpl2_frequency.parquet")
    sklearn.datasets.fetch_openml = lambda *_, **__: SimpleNamespace(frame=table)
    names: dict[str, object] = {}
    drawn = 0
    for block in BLOCK.findall(PAGE.read_text()):
        print(f"\n>>> {block.splitlines()[0]} ...")
        exec(compile(block, str(PAGE), "exec"), names)
        if plt.get_fignums():
            drawn += 1
            (arguments.out / f"insurance-{drawn}.png").write_bytes(png(plt.gca()))


if __name__ == "__main__":
    main()

"""Run the code of a guide page, those about freMTPL2 on the real table, print what it prints and draw its pictures.

usage: python benchmarks/insurance.py [--page insurance|portfolio|constraints] [--data DIR] [--out docs/pictures]

Needs pandas and matplotlib; takes about a minute.
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
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder with the Parquet files"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "pictures", help="folder for the pictures")
    parser.add_argument("--page", choices=["insurance", "portfolio", "constraints"], default="insurance")
    arguments = parser.parse_args()
    page = ROOT / "docs" / "guide" / f"{arguments.page}.md"
    file = arguments.data / "fremtpl2_frequency.parquet"
    sklearn.datasets.fetch_openml = lambda *_, **__: SimpleNamespace(frame=pd.read_parquet(file))
    names: dict[str, object] = {}
    drawn = 0
    for block in BLOCK.findall(page.read_text()):
        print(f"\n>>> {block.splitlines()[0]} ...")
        exec(compile(block, str(page), "exec"), names)
        if plt.get_fignums():
            drawn += 1
            (arguments.out / f"{arguments.page}-{drawn}.png").write_bytes(png(plt.gca()))


if __name__ == "__main__":
    main()

"""Compute the guide's page "From table to tariff" on the real table: its numbers and its pictures.

usage: python examples/tariff.py --data DIR [--write]

Runs the code of the page itself, so that the two cannot differ, and prints what it prints; ``--write`` puts that into
the page and draws the pictures that it links to. DIR holds fremtpl2_frequency.parquet: freMTPL2freq of OpenML.
Takes some minutes. Needs pandas, matplotlib, openpyxl and duckdb.
"""

from __future__ import annotations

import argparse
import io
import re
import time
from contextlib import redirect_stdout
from pathlib import Path
from types import SimpleNamespace

import matplotlib as mpl
import pandas as pd
import sklearn.datasets

mpl.use("Agg")
from matplotlib import pyplot as plt

from lambdak.explain.plots import png

PAGE = Path(__file__).parent.parent / "docs" / "guide" / "tariff.md"
BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?P<between>\n```text\n(?P<text>.*?)```\n)?"
    r"(\n!\[[^\]]*\]\((?P<picture>[^)]+)\)\n)?",
    re.MULTILINE | re.DOTALL,
)


def run(code: str, names: dict[str, object]) -> str:
    """Run a block of the page, print what it prints, and return that."""
    began, printed = time.perf_counter(), io.StringIO()
    with redirect_stdout(printed):
        exec(compile(code, str(PAGE), "exec"), names)
    print(f">>> {code.splitlines()[0]} … {time.perf_counter() - began:.1f} s\n{printed.getvalue()}", flush=True)
    return printed.getvalue()


def draw(picture: Path) -> None:
    """Write the one figure that is open."""
    picture.write_bytes(png(plt.gca()))
    plt.close("all")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with fremtpl2_frequency.parquet")
    parser.add_argument("--write", action="store_true", help="put numbers and pictures into the page")
    chosen = parser.parse_args()
    table = pd.read_parquet(chosen.data / "fremtpl2_frequency.parquet")
    sklearn.datasets.fetch_openml = lambda *_, **__: SimpleNamespace(frame=table)
    page, names = PAGE.read_text(), {}
    for block in BLOCK.finditer(page):
        printed = run(block["code"], names)
        if chosen.write and block["text"] is not None:
            new = block[0].replace(f"```text\n{block['text']}```", f"```text\n{printed}```")
            PAGE.write_text(PAGE.read_text().replace(block[0], new))
        if chosen.write and block["picture"] is not None:
            draw(PAGE.parent / block["picture"])
        plt.close("all")


if __name__ == "__main__":
    main()

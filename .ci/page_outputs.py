"""Compare what pages say that their code prints with what it prints: `python .ci/page_outputs.py docs/guide/*.md`.

A block of code and the text right behind it belong together. ``--write`` puts what is printed into the page, and draws
the picture that follows, so that neither is ever copied by hand. Pages on tables from a network are left alone.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path

BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?P<printed>\n```text\n(?P<text>.*?)^```\n)?"
    r"(\n!\[[^\]]*\]\((?P<picture>[^)]+)\)\n)?",
    re.MULTILINE | re.DOTALL,
)
SECONDS = re.compile(r"\d+(\.\d+)? s\b")  # how long something took is another number each time


def run(code: str, page: Path, names: dict[str, object]) -> str:
    """What a block prints."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(code, str(page), "exec"), names)
    return printed.getvalue()


def is_same(text: str, printed: str) -> bool:
    """Whether both say the same, but for times, spaces at the ends of lines, and what a line "…" stands for."""
    first, second = ("\n".join(line.rstrip() for line in each.strip().splitlines()) for each in (text, printed))
    pieces = [re.escape(SECONDS.sub("# s", piece)) for piece in re.split(r"^…$", first, flags=re.MULTILINE)]
    return re.fullmatch(".*".join(pieces), SECONDS.sub("# s", second), re.DOTALL) is not None


def outdated(page: Path) -> Iterator[tuple[re.Match[str], str]]:
    """Blocks whose text is not what they print, and what they print; all code of the page runs."""
    names: dict[str, object] = {}
    for block in BLOCK.finditer(page.read_text()):
        printed = run(block["code"], page, names)
        if block["text"] is not None and not is_same(block["text"], printed):
            yield block, printed


def rewrite(page: Path) -> None:
    """Put what is printed into the page, and draw its pictures."""
    import matplotlib.pyplot as plt

    from lambdak.explain.plots import png

    parts, end, names, text = [], 0, {}, page.read_text()
    for block in BLOCK.finditer(text):
        plt.close("all")
        printed = "\n".join(line.rstrip() for line in run(block["code"], page, names).rstrip().splitlines())
        if block["text"] is not None and not is_same(block["text"], printed):
            parts += [text[end : block.start("text")], printed, "\n"]
            end = block.end("text")
        if block["picture"] is not None and plt.get_fignums():
            (page.parent / block["picture"]).write_bytes(png(plt.gca()))
    page.write_text("".join([*parts, text[end:]]))


def main() -> int:
    """Print what differs, or write it; return whether anything differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--write", action="store_true")
    given, count = parser.parse_args(), 0
    for page in given.pages:
        if "fetch_openml" in page.read_text():
            continue
        if given.write:
            rewrite(page)
            continue
        for block, printed in outdated(page):
            count += 1
            print(
                f"{page}: after {block['code'].splitlines()[-1]!r} the page says\n{block['text']}but prints\n{printed}"
            )
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())

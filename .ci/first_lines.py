"""Run the first Python block of a page, and say with which kernel: `python .ci/first_lines.py README.md`."""

import re
import sys
from pathlib import Path

from lambdak.eigen import _kernel  # without it LAPACK would do the work, and nobody would notice

if not Path(_kernel.__file__).is_relative_to(sys.prefix):
    sys.exit(f"lambdak must come from {sys.prefix}; it came from {_kernel.__file__}")
block = re.search(r"^```python\n(.*?)^```", Path(sys.argv[1]).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
names: dict = {}
exec(block[1], names)
print(f"    {len(names['predicted'])} predictions with {Path(_kernel.__file__).name}")

"""Types of arrays and paths that all packages share."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating]  # float32 or float64
Float64Array = NDArray[np.float64]
PathLike = str | os.PathLike[str]

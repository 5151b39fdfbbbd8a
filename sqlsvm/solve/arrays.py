"""The arrays of the mathematics, each with the type of its numbers."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Singles = NDArray[np.float32]
Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]

"""The last step of a pipeline of scikit-learn whose classes have probabilities."""

from typing import Any

import numpy as np
from sklearn.svm import LinearSVC

from sqlsvm.engine.base import Values
from sqlsvm.model.probability import Probability, of_classes


class LikelyLinearSVC(LinearSVC):  # type: ignore[misc]
    """Where it is loaded, sqlsvm must be installed."""

    curves_: tuple[Probability, ...]

    def predict_proba(self, X: Any) -> Values:
        found = self.decision_function(X)
        if found.ndim == 1:
            return of_classes(self.curves_[0](found))
        return of_classes(np.column_stack([curve(own) for curve, own in zip(self.curves_, found.T, strict=True)]))

"""Three ways to scale the rows of a stream: as they are, to unit length, or standardised.

``unit`` divides each row by its 2-norm (a zero row stays zero). ``standard`` takes mean and standard deviation of every
feature from the **whole training part**, so that a learner of the first row already profits from later ones; sparse
rows are divided only, because a shift would fill them.
"""

from typing import Any

IN_WORDS = {
    "none": "values as they are",
    "unit": "each row divided by its 2-norm",
    "standard": "features standardised with mean and deviation of the whole training part",
}


def scale(how: str, X_train: Any, *others: Any) -> tuple[Any, ...]:
    """``X_train`` and any ``others`` (a test part, or None) prepared alike.

    >>> import numpy as np
    >>> scale("unit", np.array([[3.0, 4.0], [0.0, 0.0]]))[0].tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    if how not in IN_WORDS:
        raise ValueError(f"scale must be one of {', '.join(IN_WORDS)}, got {how!r}")
    parts = (X_train, *others)
    if how == "none":
        return parts
    from scipy.sparse import issparse
    from sklearn.preprocessing import StandardScaler, normalize

    if how == "unit":
        return tuple(None if X is None else normalize(X) for X in parts)
    scaler = StandardScaler(with_mean=not issparse(X_train)).set_output(transform="default").fit(X_train)
    return tuple(None if X is None else scaler.transform(X) for X in parts)

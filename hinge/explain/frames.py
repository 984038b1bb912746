"""The tables of this folder as pandas DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pandas import DataFrame

    from hinge.explain.features import FeatureTable
    from hinge.explain.rows import RowTable


def frame(table: FeatureTable | RowTable) -> DataFrame:
    """The same columns as a pandas DataFrame.

    Parameters
    ----------
    table : FeatureTable or RowTable

    Returns
    -------
    DataFrame

    Examples
    --------
    >>> from hinge import LinearSVC
    >>> from hinge.explain import feature_table, frame
    >>> X, y = [[0.0, 900.0], [1.0, 100.0], [2.0, 500.0], [3.0, 400.0]], ["no", "no", "yes", "yes"]
    >>> model = LinearSVC().fit(X, y)
    >>> frame(feature_table(model, X, names=["age", "pay"])).columns.tolist()
    ['feature', 'of', 'weight', 'spread', 'effect', 'share']
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("frame() needs pandas: pip install pandas, or use the table's columns.") from error
    return pd.DataFrame(table._asdict())

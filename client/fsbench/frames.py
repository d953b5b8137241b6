"""A table of numbers in the libraries that people analyse with: Arrow, pandas, Polars, Parquet.

Each needs its library, and says what to install where it is missing.
"""

import importlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fsbench_web.core import number_tables

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class Frames:
    """A table that comes as batches of Arrow."""

    def batches(self) -> "Iterator[pyarrow.RecordBatch]":
        """The rows, as many at a time as are read or sent at once; one batch at least."""
        raise NotImplementedError

    def to_arrow(self) -> "pyarrow.Table":
        """A table of Arrow, with units in the metadata of its fields. Needs pyarrow."""
        return library("pyarrow").Table.from_batches(self.batches())

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write a Parquet file, batch by batch. Needs pyarrow."""
        library("pyarrow")
        number_tables.write(self.batches(), os.fspath(path), "parquet")

    def to_pandas(self) -> "pandas.DataFrame":
        """A data frame of pandas. Needs pandas and pyarrow."""
        pandas = library("pandas")
        whole = {library("pyarrow").int64(): pandas.Int64Dtype()}
        return self.to_arrow().to_pandas(types_mapper=whole.get)

    def to_polars(self) -> "polars.DataFrame":
        """A data frame of Polars. Needs polars and pyarrow."""
        return library("polars").from_arrow(self.to_arrow())


def library(name: str) -> Any:
    """An optional library. Raises ImportError with what to install."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        text = f"This needs {name}: pip install 'fsbench[{name}]'"
        raise ImportError(text, name=error.name) from None

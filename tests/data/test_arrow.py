"""Columns are those that Arrow itself makes, and nobody imports pandas."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from mmalign.data.arrow import column_of, numbers_in, table_of

LISTS = {
    "text": ["a", "", "ünï", "日本", "a\nb"],
    "truth": [True, False, True] * 7,
    "float": [1.5, -0.0, float("nan"), float("inf")],
    "int": [1, 2, 3],
    "some": ["a", None],
    "mixed numbers": [1, 2.5],
    "none": [],
}


@pytest.mark.parametrize("name", LISTS)
def test_a_column_is_the_one_that_arrow_makes(name):
    values = LISTS[name]
    found, expected = column_of(values), pa.array(values)
    found.validate(full=True)
    assert found.type == expected.type
    np.testing.assert_equal(found.to_pylist(), expected.to_pylist())


def test_a_table_has_its_columns_in_order():
    columns = {"b": ["x", "y"], "a": [0.5, 1.5], "c": [True, False]}
    assert table_of(columns).equals(pa.table(columns))
    assert table_of({"a": [], "b": []}).equals(pa.table({"a": [], "b": []}))


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint16", "float32", "float64"])
def test_numbers_are_those_in_the_column(dtype):
    numbers = np.arange(20).astype(dtype)
    for column in (pa.array(numbers), pa.array(numbers)[3:9], pa.array(numbers)[:0]):
        found = numbers_in(column)
        assert found.dtype == dtype
        assert found.tolist() == column.to_pylist()


def test_numbers_with_nulls_and_of_other_kinds_are_left_to_arrow():
    np.testing.assert_equal(numbers_in(pa.array([1.5, None])), [1.5, np.nan])
    assert numbers_in(pa.array([True, False])).tolist() == [True, False]


def test_pandas_is_not_imported():
    program = (
        "import sys; import pyarrow as pa; from mmalign.data.arrow import numbers_in, table_of\n"
        "table = table_of({'id': ['a'], 'x': [0.5], 'y': [True]})\n"
        "numbers_in(table.column('x').combine_chunks())\n"
        "sys.exit('pandas' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)

"""Tables with holes ⇄ encoded matrices.

``as_table`` wraps a native table, ``TableSchema.infer`` decides what its columns are,
``TableEncoder`` turns it into numbers and writes imputed numbers back.
"""

from ._encoder import Encoded, TableEncoder
from ._flags import append_flags
from ._io import Table, as_table
from ._schema import ColumnSchema, TableSchema, check_columns, retype_empty

__all__ = [
    "ColumnSchema",
    "Encoded",
    "Table",
    "TableEncoder",
    "TableSchema",
    "append_flags",
    "as_table",
    "check_columns",
    "retype_empty",
]

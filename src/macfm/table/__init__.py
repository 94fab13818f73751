"""Tables with holes ⇄ encoded matrices.

``as_table`` wraps a native table, ``TableSchema.infer`` decides what its columns are,
``TableEncoder`` turns it into numbers and writes imputed numbers back.
"""

from macfm.table._arrow import fill_dictionary
from macfm.table._categories import codes_of
from macfm.table._column import (
    FAMILIES,
    KINDS,
    ColumnData,
    ColumnSchema,
    Family,
    Kind,
    seldom_repeats,
)
from macfm.table._encoder import Encoded, EncodedAtoms, EncodedScores, TableEncoder
from macfm.table._expression import column_text
from macfm.table._flags import append_flags
from macfm.table._hints import (
    NUMBER,
    number_mark,
    same_but_for_spelling,
)
from macfm.table._io import Cells, Table, as_table
from macfm.table._ranks import least_draws, range_places
from macfm.table._schema import TableSchema, check_columns, retype_empty
from macfm.table._settle import Wishes, is_mask, read_wishes
from macfm.table._tagged import from_tagged, to_tagged
from macfm.table._written import shown_amount, written_amounts

__all__ = [
    "FAMILIES",
    "KINDS",
    "NUMBER",
    "Cells",
    "ColumnData",
    "ColumnSchema",
    "Encoded",
    "EncodedAtoms",
    "EncodedScores",
    "Family",
    "Kind",
    "Table",
    "TableEncoder",
    "TableSchema",
    "Wishes",
    "append_flags",
    "as_table",
    "check_columns",
    "codes_of",
    "column_text",
    "fill_dictionary",
    "from_tagged",
    "is_mask",
    "least_draws",
    "number_mark",
    "range_places",
    "read_wishes",
    "retype_empty",
    "same_but_for_spelling",
    "seldom_repeats",
    "shown_amount",
    "to_tagged",
    "written_amounts",
]

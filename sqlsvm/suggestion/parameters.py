"""What can be asked of a suggestion, by the names of Python: what kind of value, and what it does."""

PARAMETERS = {
    "table": (
        "TABLE",
        "The table whose rows have the label, or with ⟦label_next⟧ that of the entities; a file in DuckDB.",
    ),
    "label": ("COLUMN", "Its column to predict, or the name of the label that ⟦label_next⟧ makes."),
    "time": (
        "COLUMN",
        "When a row is. Nothing from then on is a feature. With ⟦label_next⟧: from when on an entity exists; "
        "by default from its first row there.",
    ),
    "entity": ("COLUMN,...", "The columns that say whose history counts; all foreign keys if there is none."),
    "windows": (
        "SPAN,...",
        "Count the history also in these spans before the row, as '30 days'; by default they fit the data.",
    ),
    "tables": ("TABLE,...", "Use only these other tables, or files in DuckDB."),
    "label_next": (
        "TABLE",
        "Make the label of the rows of this table that come within a span after each of several times. The "
        "other table is then that of the entities, such as customers.",
    ),
    "within": ("SPAN", "How far such a label looks ahead, as '90 days'."),
    "every": ("SPAN", "The span between two times; as long as ⟦within⟧ by default."),
    "count": ("", "The label is how many rows come. This is the default."),
    "sum": ("COLUMN", "The label is the sum of this column of the rows that come."),
    "none": ("", "The label is whether no row comes."),
    "label_time": ("COLUMN", "When a row of ⟦label_next⟧ is; its earliest date by default."),
    "active": ("SPAN", "Take only entities with a row of ⟦label_next⟧ in this span before a time."),
}
OF_HISTORY = "entity", "windows", "tables"
TO_COME = "label_next", "within", "every", "count", "sum", "none", "label_time", "active"

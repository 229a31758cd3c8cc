"""SQL texts of a pipeline file, read without a JVM: is this text one that penstock may hand to Spark?

    problems.py    SqlWrong: every problem of a text, each at its row and column
    values.py      what a text says: Expression, Generator, RowQuery
    expression.py  read_expression, read_value: one expression of `rule`, `where`, `select`, ...
    query.py       read_query: the one SELECT of a `sql` step
    scope.py       which columns a stage sees, and which it gives
    functions.py   the functions that Spark knows

sqlglot reads; Spark runs the user's own text and nothing that sqlglot wrote. Whatever cannot be read is refused.
"""

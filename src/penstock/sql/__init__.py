"""SQL texts of a pipeline file, read without a JVM: is this text one that penstock may hand to Spark?

    problems.py    SqlWrong: every problem of a text, each at its row and column
    values.py      what a text says: Expression, Generator, RowQuery
    expression.py  read_expression, read_value: one expression of `rule`, `where`, `select`, ...
    query.py       read_query: the one SELECT of a `sql` step
    fields.py      SQL as fields of options models
    scope.py       which columns a stage sees, and which it gives
    functions.py   the functions that Spark knows, and those that are refused

Inside: lexis.py (quotes and comments as Spark's lexer has them), words.py and reading.py (the text as words),
guard.py and clauses.py (what is refused), parts.py (a query's clauses), tree.py (what sqlglot's tree says),
outputs.py (names of columns).

sqlglot reads; Spark runs the user's own text and nothing that sqlglot wrote. Whatever cannot be read is refused.
"""

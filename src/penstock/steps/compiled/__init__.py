"""Simple SQL as Arrow compute, in the Python worker, so that rows need not travel to Spark and back.

Spark reads and analyses the user's text, as ever; what is compiled is Spark's own analysed tree, in which every
operator has its place and every implicit cast is written out. What a rule here does not know, or cannot do exactly as
Spark does it, is left to Spark: the stage then runs there, as a whole.

    tree.py        Spark's analysed expression, as a value
    compile.py     the tree -> an Op, or NotCompiled
    ops.py         Op: an expression at work on a batch; a value may have raised on some rows
    logic.py       AND, OR, NOT, IS NULL, COALESCE, IF, CASE
    compare.py     comparisons and IN
    arithmetic.py  + - * / % and their overflow
    casts.py       casts that are exact, or raise
    text.py        length, substring, concat, LIKE ...;  case.py: upper and lower;  patterns.py: patterns for RE2
    times.py       parts of dates and times
    nested.py      fields of structs, elements of arrays
    types.py       Spark's types as Arrow has them
    stages.py      checks, queries and routes as stages of the worker;  settle.py: one fate for each record
    plan.py        a pipeline's stages as compiled ones, made before the first batch

Held against Spark by tests/spark/test_arrow_sql_property.py: the same values, nulls and raised rows.
"""

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
    text.py        length, substring, concat, LIKE ...;  patterns.py: the regular expressions that mean the same
    times.py       parts of dates and times
    stages.py      checks, queries and routes as stages of the worker

Held against Spark by tests/spark/test_compiled_property.py: the same values, nulls and raised rows.
"""

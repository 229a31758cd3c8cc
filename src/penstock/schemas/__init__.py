"""Schemas that somebody else owns: where they are kept, what they say of a row, and what happens when they change.

contract.py   what a registry and a registry format must give; the reader: what a pipeline knows
options.py    the sections `registry` and `schema_changes` of the pipeline file
http.py       calls of a registry's API, bounded in time, size and redirects
client.py     a registry with Confluent's API      folder.py  a folder as one
cache.py      answers kept in memory and in the state
policy.py     what becomes of each kind of change: for the running pipeline and for `schema check`
rowtype.py    the columns of all subjects, united by name, and how they grow
shelf.py      the reader's revisions in the state
keeper.py     decides on every schema that a run meets
"""

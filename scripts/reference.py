"""Writes what is made from the options models: the tables of docs/pipeline-file.md, and docs/pipeline.schema.json.

`--check` only says what is stale. `make reference` calls it.
"""

import sys
from pathlib import Path

from penstock.spec.reference import page
from penstock.spec.schema import schema_text

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE, SCHEMA = DOCS / "pipeline-file.md", DOCS / "pipeline.schema.json"

text = PAGE.read_text(encoding="utf-8")
fresh = {PAGE: page(text), SCHEMA: schema_text()}
stale = [path for path, made in fresh.items() if not path.exists() or path.read_text(encoding="utf-8") != made]
if "--check" in sys.argv:
    names = " and ".join(f"docs/{path.name}" for path in stale)
    sys.exit(f"stale: {names}. Mend it:  make reference" if stale else 0)
for path in stale:
    path.write_text(fresh[path], encoding="utf-8")

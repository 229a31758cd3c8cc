"""Writes what is made from the code: the tables of docs/pipeline-file.md, docs/pipeline.schema.json, and the list of
diagnoses in docs/doctor.md.

`--check` only says what is stale. `make reference` calls it.
"""

import sys
from pathlib import Path

from penstock.operate.doctor import listing
from penstock.spec.reference import page
from penstock.spec.schema import schema_text

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE, SCHEMA, DOCTOR = DOCS / "pipeline-file.md", DOCS / "pipeline.schema.json", DOCS / "doctor.md"

text = PAGE.read_text(encoding="utf-8")
fresh = {PAGE: page(text), SCHEMA: schema_text(), DOCTOR: listing.page(DOCTOR.read_text(encoding="utf-8"))}
stale = [path for path, made in fresh.items() if not path.exists() or path.read_text(encoding="utf-8") != made]
if "--check" in sys.argv:
    names = " and ".join(f"docs/{path.name}" for path in stale)
    sys.exit(f"stale: {names}. Mend it:  make reference" if stale else 0)
for path in stale:
    path.write_text(fresh[path], encoding="utf-8")

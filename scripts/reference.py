"""Puts fresh tables of every key into docs/pipeline-file.md. `--check` only says whether the page is stale."""

import sys
from pathlib import Path

from penstock.spec.reference import page

PAGE = Path(__file__).resolve().parent.parent / "docs" / "pipeline-file.md"

text = PAGE.read_text(encoding="utf-8")
fresh = page(text)
if "--check" in sys.argv:
    sys.exit(0 if text == fresh else "docs/pipeline-file.md is stale. Mend it:  .venv/bin/python scripts/reference.py")
PAGE.write_text(fresh, encoding="utf-8")

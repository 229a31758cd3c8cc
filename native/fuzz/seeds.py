"""Writes the corpus of the tests as seeds for `cargo fuzz`:  python -m native.fuzz.seeds"""

from __future__ import annotations

import base64
import json
from pathlib import Path

HERE = Path(__file__).parent
CASES = HERE.parents[1] / "tests" / "corpus" / "json.jsonl"
FOLDER = HERE / "corpus" / "decode"


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for number, line in enumerate(CASES.read_text("utf-8").splitlines()):
        case = json.loads(line)
        text = case.get("value") or ""
        text = text if isinstance(text, str) else "".join(part * times for part, times in text)
        value = base64.b64decode(case["base64"]) if "base64" in case else text.encode()
        (FOLDER / f"case-{number}").write_bytes(bytes([number % 3]) + value)


if __name__ == "__main__":
    main()

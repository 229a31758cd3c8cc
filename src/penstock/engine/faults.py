"""What a failed query means: something time can cure, or something a person must see."""

from __future__ import annotations

import re
from pathlib import Path

from penstock.errors import PenstockError, Unavailable

CURABLE = {
    r"No space left on device|Disk quota exceeded|ENOSPC": "the disk is full",
    r"org\.apache\.kafka\.common\.errors\.(Retriable|Timeout|Disconnect|Network|BrokerNotAvailable)\w*Exception": (
        "Kafka does not answer"
    ),
    r"java\.net\.(ConnectException|SocketTimeoutException|UnknownHostException)": "the network does not answer",
    r"Failed to get offset|Timeout of \d+ms expired|timed out waiting for a node": "Kafka does not answer",
    r"SafeModeException|ipc\.(Retriable|Standby)Exception": "the file system takes nothing now",
    r"CONCURRENT_QUERY|CONCURRENT_STREAM_LOG_UPDATE": "another process wrote to the checkpoint",
}
"""Pattern in Spark's text -> what it means. Spark's own errors carry no condition for these."""


def explain(error: Exception, pipeline: str, log: Path) -> PenstockError:
    """The error of a query that ended by itself, as one of ours."""
    text = str(error)
    for pattern, meaning in CURABLE.items():
        if re.search(pattern, text):
            return Unavailable(
                f"{pipeline}: {meaning}.",
                data="The batch in hand was not committed; it will be done again, once.",
                remedy=f"Spark said: {_first_line(text)}",
            )
    return PenstockError(
        f"{pipeline}: the batch failed in Spark: {_cause(text)}",
        data="Nothing of this batch is visible; what was committed before stays.",
        remedy=f"Spark's log has the whole story:  {log}",
    )


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0][:300] if text.strip() else "nothing"


def _cause(text: str) -> str:
    """The innermost cause that the text names: the last line of a Python traceback, or the last `Caused by`."""
    python = re.findall(r"^(?:\w+\.)*(\w+(?:Error|Exception|Interrupt|Changed|Refused)\b.*)$", text, re.MULTILINE)
    caused = re.findall(r"Caused by: (.*)", text)
    return (python[-1] if python else caused[-1] if caused else _first_line(text))[:500]

"""A process that commits one frozen batch, to be killed or stopped on the way:  python -m ... ORDER"""

from __future__ import annotations

import json
import sys

from penstock.errors import PenstockError
from penstock.sinks.contract import Frozen
from tests.broker.kafka_sink_kit import Shop, key


def main(order: str) -> None:
    body = json.loads(order)
    committer = Shop(**body["shop"]).committer()
    shares = {name: Frozen.from_json(share) for name, share in body["shares"].items()}
    batch_id = body["batch_id"]
    try:
        receipts = committer.commit(shares, key(committer, batch_id), {}, batch_id - 1 if batch_id else None)
        told = next(iter(receipts.values())).how
    except PenstockError as error:
        told = f"{type(error).__name__}: {error}"
    print(told, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])

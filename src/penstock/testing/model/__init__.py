"""The protocols of a batch as small models, searched to the end: every order of events, every crash.

`transaction` is the Kafka sink (fence, check, transact); `publishing` is the order of a batch in batch.py. The rules
of each are data: take one away, and the search tells the shortest story of how data are lost, doubled or mixed.
`python -m penstock.testing.model` prints them all.
"""

from penstock.testing.model import publishing, transaction
from penstock.testing.model.publishing import Publishing
from penstock.testing.model.search import Model, Step, Verdict, search
from penstock.testing.model.transaction import Transaction

__all__ = ["Model", "Publishing", "Step", "Transaction", "Verdict", "publishing", "search", "transaction"]

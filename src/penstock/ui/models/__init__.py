"""What the dashboard's API answers, typed. Times are seconds since 1970, in UTC; None means that nobody knows."""

from penstock.ui.models.alerts import Alert, Alerts, Happened, LostRange
from penstock.ui.models.answer import Answer, Problem
from penstock.ui.models.batches import Batch, Batches, BatchRow, Committed, PartRange
from penstock.ui.models.lag import Course, LagSum, LagTable, PartitionRow, TopicRow
from penstock.ui.models.ledger import Entry, Identity, LedgerPage, Marker, Writes
from penstock.ui.models.letters import Letter, Letters, Payload, SchemaNews, Schemas
from penstock.ui.models.overview import Card, Detail, Flow, Holder, InHand, Pipelines, SinkFlow, Stage

__all__ = [
    "Alert",
    "Alerts",
    "Answer",
    "Batch",
    "BatchRow",
    "Batches",
    "Card",
    "Committed",
    "Course",
    "Detail",
    "Entry",
    "Flow",
    "Happened",
    "Holder",
    "Identity",
    "InHand",
    "LagSum",
    "LagTable",
    "LedgerPage",
    "Letter",
    "Letters",
    "LostRange",
    "Marker",
    "PartRange",
    "PartitionRow",
    "Payload",
    "Pipelines",
    "Problem",
    "SchemaNews",
    "Schemas",
    "SinkFlow",
    "Stage",
    "TopicRow",
    "Writes",
]

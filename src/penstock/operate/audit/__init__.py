"""penstock audit: is every record in every sink exactly once? Ledger, tables and rows are compared, not believed."""

from penstock.operate.audit.verdict import Account, Verdict
from penstock.operate.audit.walk import audit

__all__ = ["Account", "Verdict", "audit"]

"""The bulk door: rows written by other processes, published by one.

    ticket = g.bulk()                         here: what to write to, as a value that pickles
    receipt = ticket.write("Film", batches)   there, in any number of processes: files, checked row by row
    g.bulk_publish(receipts)                  here: judged together, one plan, one commit

A ticket holds the pins, the schema and the place. A receipt is plain JSON. What was written and never published is
litter that the receipt's load id attributes; no version knows of it.
"""

from __future__ import annotations

from omnigraph.write.bulk.publishing import BulkPublish, publish_receipts
from omnigraph.write.bulk.receipts import BulkAttempt, BulkReceipt
from omnigraph.write.bulk.ticket import BulkTicket, make_ticket

__all__ = ["BulkAttempt", "BulkPublish", "BulkReceipt", "BulkTicket", "make_ticket", "publish_receipts"]

"""What other processes do with a ticket; in a module of its own, where they find it by name."""

from __future__ import annotations

import pyarrow as pa

import omnigraph as og

PEOPLE, RENTALS = 4, 3


def write_people(ticket: og.BulkTicket, part: int) -> str:
    handles = [f"p{part}-{number}" for number in range(PEOPLE)]
    return ticket.write("Person", pa.table({"handle": handles})).to_json()


def write_follows(ticket: og.BulkTicket, part: int) -> str:
    sources = [f"p{part}-{number}" for number in range(RENTALS)]
    targets = [f"p{(part + 1) % 3}-{number}" for number in range(RENTALS)]
    return ticket.write("Follows", pa.table({"src": sources, "dst": targets})).to_json()


def write_films(ticket: og.BulkTicket, films: pa.Table) -> str:
    return ticket.write("Film", films).to_json()

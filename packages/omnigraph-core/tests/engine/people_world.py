"""What tests of whole queries share: four people, who knows whom, and some questions."""

from __future__ import annotations

from typing import Any

import omnigraph as og
from omnigraph.history.ulids import new_ulid

SCHEMA = """
node Person { name: String @key  age: I64? @index  bio: String? @index }
edge Knows: Person -> Person { since: I64? }
"""
QUERIES = """
query adults($age: I64) { match { $p: Person  $p.age >= $age } return { $p.name, $p.age } order { $p.name } }
query friends($name: String) { match { $p: Person { name: $name }  $p knows $q } return { $q.name } order { $q.name } }
query drop($name: String) { delete Person where name = $name }
"""
PAIRS = "query pairs() { match { $a: Person  $b: Person } return { count($a) as n } }"


def person(name: str, age: int | None = None) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, "age": age, "bio": f"{name} likes tea"}}


def knows(source: str, target: str) -> dict[str, Any]:
    return {"edge": "Knows", "from": source, "to": target}


def people_graph() -> og.Graph:
    graph = og.init(f"memory://{new_ulid()}", schema=SCHEMA)
    people = [person("ann", 40), person("bo", 17), person("cy"), person("dee", 18)]
    graph.load([*people, knows("ann", "bo"), knows("ann", "cy"), knows("bo", "dee")], mode="append")
    return graph

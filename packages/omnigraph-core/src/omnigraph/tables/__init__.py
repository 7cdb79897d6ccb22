"""The sealed door to Lance: no other package of OmniGraph imports it."""

from __future__ import annotations

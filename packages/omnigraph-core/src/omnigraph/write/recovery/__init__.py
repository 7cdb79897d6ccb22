"""Recovery: what is done about writes that were cut off.

sidecars ── liveness ──> of dead writers ── finding ──> facts ── verdict ──> decision ── settling ──> audited, gone
"""

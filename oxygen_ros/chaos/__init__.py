"""Faults injected into a running robot and node, and a judge that trusts neither."""

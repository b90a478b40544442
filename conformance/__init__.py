"""Conformance of memories with two clocks: histories, questions, answers (docs/conformance.md)."""

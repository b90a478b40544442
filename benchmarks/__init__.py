"""Measurements of the file tier; each module is a script (benchmarks/README.md)."""

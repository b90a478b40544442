"""The same job on the same broker, done by us and by what users would pick instead."""

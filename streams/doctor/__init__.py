"""`turnfold admin doctor`: is this installation as it should be? Each module looks at one part,
changes nothing, and yields findings (docs/operations.md)."""

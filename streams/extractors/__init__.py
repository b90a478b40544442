"""What a turn says that memory should keep: rules, affect and models make write plans of it."""

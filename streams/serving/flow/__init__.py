"""What flows through the pipeline, looked at once a second while somebody watches."""

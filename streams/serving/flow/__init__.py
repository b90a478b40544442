"""The data flow through the pipeline, sampled once per second while a page shows it."""

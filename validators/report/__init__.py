"""The report of a run: one document, and what people read of it."""

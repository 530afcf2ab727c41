"""The scenarios, each with its control."""

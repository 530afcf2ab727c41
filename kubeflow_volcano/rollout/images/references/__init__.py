"""Every image reference in plain objects, wherever it hides."""

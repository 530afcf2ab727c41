"""The gang-scheduling experiment with its controls."""

"""Watches: following changes without gaps, and waiting until objects are ready."""

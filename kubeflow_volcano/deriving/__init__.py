"""Entries of the catalog, made from upstream's files: what these say is derived, the rest is left to a person."""

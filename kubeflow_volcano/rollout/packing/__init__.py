"""Filling a bundle: what an installation of this inventory needs, fetched from where it can be reached."""

"""Registries: asking whether they have an image, and copying images into one."""

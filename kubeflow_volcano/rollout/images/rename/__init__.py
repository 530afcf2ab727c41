"""New names for images: overrides, mirror rules, and rewriting objects."""

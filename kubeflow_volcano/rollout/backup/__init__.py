"""Custom resources, profiles and secrets that no inventory declares: saved to files, and restored in order."""

"""Logins at registries for the pods of every component; the inventory's patches come after it."""

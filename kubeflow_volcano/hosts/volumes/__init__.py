"""Directories and owners of volumes on hosts."""

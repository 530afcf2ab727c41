"""Probes of storage: the default StorageClass, and volumes written as their consumers."""

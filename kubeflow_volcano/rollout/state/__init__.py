"""State that roll-outs keep in the project's namespace: lock, ledger, ConfigMaps."""

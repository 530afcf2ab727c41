"""What the project keeps on a cluster: its namespace, the lock, the ledger."""

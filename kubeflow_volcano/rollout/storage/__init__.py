"""Storage: the local-path provisioner, static volumes, exactly one default StorageClass."""

"""One API server: connection, credentials, discovery, typed errors."""

"""Who may sign in beside the first user: connectors of Dex, and the issuer that they need."""

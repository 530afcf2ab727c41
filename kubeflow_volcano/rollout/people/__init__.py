"""Who may sign in beside the first user, and teams: users, connectors with the issuer that they need, profiles."""

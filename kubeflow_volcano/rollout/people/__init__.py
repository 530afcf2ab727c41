"""Who may sign in beside the first user, and teams: users, connectors with their issuer, profiles, notebooks."""

"""The first user's account: password hash, shared secrets, and where they are kept."""

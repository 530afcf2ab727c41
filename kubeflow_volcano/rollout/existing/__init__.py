"""Components that others installed: whose they are, and what the roll-out needs of those that stay theirs."""

"""What the inventory says about people: users with passwords, connectors of Dex, profiles of teams, notebooks."""

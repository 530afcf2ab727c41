"""What the inventory says about who may sign in: connectors of Dex."""

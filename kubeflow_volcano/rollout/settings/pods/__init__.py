"""What the inventory says about pods of every component: credentials, proxy, placement, claims."""

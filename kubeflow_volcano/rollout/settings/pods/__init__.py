"""What the inventory says about pods of every component: logins at registries, a proxy, nodes, volumes, stores."""

"""What pods of every component get: logins at registries and a proxy; the inventory's patches come after it."""

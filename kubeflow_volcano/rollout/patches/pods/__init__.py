"""What pods of every component get by variables of the inventory; the inventory's patches come after it."""

"""The variables of an inventory: checked against the schema and each other, and turned into one frozen value."""

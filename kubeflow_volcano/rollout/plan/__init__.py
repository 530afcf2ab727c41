"""The static plan: all that a roll-out will do, told without a cluster."""

"""What is known about components of others: software that they share with others, and settings that they need."""

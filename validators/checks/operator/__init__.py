"""Family G: the training operator and Trainer."""

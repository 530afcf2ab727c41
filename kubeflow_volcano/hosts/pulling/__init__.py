"""Images pulled on nodes before pods request them."""

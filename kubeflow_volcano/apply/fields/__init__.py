"""Fields of objects: which are left to others, and which are taken over from them."""

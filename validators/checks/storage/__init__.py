"""Family D: StorageClasses, claims, volumes, and who may write to them."""

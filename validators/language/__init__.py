"""Reports in other languages than English: catalogs of translations as data, and the translation of written texts."""

"""`make release`: from a commit to a wheel, a collection and a bill of materials that are built, tried and tagged."""

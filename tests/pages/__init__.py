"""Pages for people as tests: their blocks of code, what is known without running them, and running them."""

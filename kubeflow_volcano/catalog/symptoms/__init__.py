"""Messages of programs, each with its cause and what to do, as data."""

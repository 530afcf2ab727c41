"""Jobs that scenarios create, and their gangs."""

"""Reading one job and what is around it."""

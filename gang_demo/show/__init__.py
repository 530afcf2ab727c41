"""Outcomes for people: tables, pictures, the page docs/scenarios.md."""

"""Outcomes for people: tables and pictures."""

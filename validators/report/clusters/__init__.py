"""The report on several clusters that were judged in one run, made of the report of each."""

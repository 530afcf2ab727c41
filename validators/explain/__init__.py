"""Why a job does not start: facts about one job, judged stage by stage, and what would have to change.

A stage is a function of a `Situation`. It asks no server and matches no scheduler's message: schedulers' words differ
between versions and are shown as they are, beside what follows from the objects.
"""

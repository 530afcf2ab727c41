"""Why a job does not start: facts about one job, judged stage by stage, and what would have to change.

`reading` collects the facts, `stages` has the table of stages in causal order, and each folder holds the stages of one
part of a job's way: `creation` (of its PodGroup and pods), `scheduling` (the gang's admission), `placement` (nodes).
A stage is a function of a `Situation`. It sends no request and parses no scheduler's message: the wording differs
between versions and is shown unchanged, beside what follows from the objects.
"""

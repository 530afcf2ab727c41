"""Why a gang is not admitted or scheduled: queues, shares, schedulers."""

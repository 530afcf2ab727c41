"""What holds for all tests, however they are started."""

from __future__ import annotations

import signal

# A shell lets what it starts in the background ignore Ctrl-C, and so does everything that is started from there. Some
# tests send it to programs of theirs.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

"""Sets how often the cycle collector runs. The package loads this first, so that it holds for imports."""

from __future__ import annotations

import atexit
import gc

COLLECT = (200_000, 5, 50)
"""The thresholds of Python's cycle collector. Histories are hundreds of thousands of values without cycles;
scanning them again and again takes as long as reading them. The modules of a command are 60,000 objects."""

gc.set_threshold(*COLLECT)
atexit.register(gc.freeze)
"""An ending interpreter scans all modules for cycles, though the system takes back their memory anyway.

Source: CPython 3.11, `finalize_modules` in Python/pylifecycle.c; frozen objects are not scanned.
"""

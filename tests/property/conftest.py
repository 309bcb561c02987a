"""Tests of this folder make up recordings with `trace_programs.py`, which stands beside them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

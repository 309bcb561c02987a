"""Tests of this folder read the papers' data through `papers.py`, which stands beside them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

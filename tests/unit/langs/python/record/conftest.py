"""Every test that takes `run` is run with each backend at hand."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from recorded import BACKENDS, Node, record


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def run(backend: str, tmp_path: Path) -> Callable[..., Node]:
    def run_recorded(source: str, *arguments: Any, **namespace: Any) -> Node:
        # A collection in the middle of a small program would hide new generators from the pure one.
        gc.collect()
        return record(source, tmp_path, backend, *arguments, **namespace)

    return run_recorded

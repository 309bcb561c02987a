"""All that is said of tags holds of both twins: the one in C, and the one in Python."""

import pytest

from whence.langs.python.provenance import runtime
from whence.langs.python.provenance.runtime import native_tagging

_LOADED = runtime  # it binds the twins


@pytest.fixture(params=["native", pytest.param("python", marks=pytest.mark.soak)], autouse=True)
def twin(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch):
    """Which of the twins works, here and in the processes that are started."""
    is_native = request.param == "native"
    if is_native and not native_tagging.HAS_NATIVE:
        pytest.skip("whence was installed without a compiler")
    monkeypatch.setenv(native_tagging.IMPLEMENTATION_VARIABLE, request.param)
    before = native_tagging.use_native(is_native)
    yield request.param
    native_tagging.use_native(before)

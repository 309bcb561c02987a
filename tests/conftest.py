"""Settings for all tests: how hard Hypothesis tries."""

import os

from hypothesis import HealthCheck, settings

# No deadline and no complaint about slow generation: the suite runs on several interpreters and
# loaded machines, and speed is measured in bench/. Not derandomized: every run looks elsewhere.
settings.register_profile(
    "ci",
    max_examples=40,
    deadline=None,
    derandomize=False,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("soak", parent=settings.get_profile("ci"), max_examples=500)
settings.load_profile(os.environ.get("WHENCE_HYPOTHESIS_PROFILE", "ci"))

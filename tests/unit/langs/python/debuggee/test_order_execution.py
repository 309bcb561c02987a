import os
import signal

import pytest

from whence.langs.python.debuggee.order_execution import _without_interrupts


def test_an_interrupt_does_not_keep_a_recording_from_being_closed() -> None:
    done = []
    with _without_interrupts():
        os.kill(os.getpid(), signal.SIGINT)
        done.append("closed")
    assert done == ["closed"]
    with pytest.raises(KeyboardInterrupt):  # later ones count
        signal.raise_signal(signal.SIGINT)

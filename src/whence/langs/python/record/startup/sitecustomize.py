"""Found by a Python that a recorded program starts, when it looks for its own start-up module.

It lets whence record the process, takes itself out of sight, and hands over to the module of this
name that the user has, if there is one. Whatever goes wrong here, the process runs on unrecorded.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _announcement() -> "str | None":
    """What only this process was told: from here on its environment is the program's again."""
    text = os.environ.pop("WHENCE_CHILD", None)
    paths = os.environ.get("PYTHONPATH")
    if text is not None and paths is not None:
        first, colon, rest = paths.partition(os.pathsep)
        if os.path.abspath(first) == _HERE:
            if colon or first.endswith("/"):  # which stands for an empty PYTHONPATH
                os.environ["PYTHONPATH"] = rest
            else:
                del os.environ["PYTHONPATH"]
    return text


def _join(text: "str | None") -> None:
    if text is None and "WHENCE_CHILDREN" not in os.environ:
        return
    path = sys.path
    # The first entry of PYTHONPATH is this folder; further ones may be the program's.
    sys.path = [os.path.abspath(os.path.join(_HERE, *[os.pardir] * 5))]
    try:
        from whence.import_path import whence_path

        sys.path = whence_path(path)
        from whence.langs.python.record import children

        children.join(text)
    except ImportError:
        return
    finally:
        sys.path = path


def _out_of_sight() -> None:
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != _HERE]
    for path in (_HERE, _HERE + "/"):
        sys.path_importer_cache.pop(path, None)
    sys.modules.pop("sitecustomize", None)


_out_of_sight()
try:  # noqa: SIM105 (contextlib would be one more module that the process did not ask for)
    _join(_announcement())
except Exception:
    pass

# As `site` itself would have: with the user's module in place of this one, or none at all.
import sitecustomize  # type: ignore[import-not-found] # noqa: E402, F401

"""Names that Python up to 3.8 had and 3.11 does not, for old releases of the projects.

`bench/bugsinpy_trees.py` puts this into the environments of the bugs, which import it at start. It
adds names and changes nothing that 3.11 has.
"""

import asyncio
import base64
import collections
import collections.abc
import fractions
import inspect
import math
import platform
import sys
import threading
import time
import types
import unittest
import xml.etree
import xml.etree.ElementTree


def _add(owner, name, value):
    if not hasattr(owner, name):
        setattr(owner, name, value)


for _name in collections.abc.__all__:
    _add(collections, _name, getattr(collections.abc, _name))
_ArgSpec = collections.namedtuple("ArgSpec", "args varargs keywords defaults")


def _getargspec(function):
    return _ArgSpec(*inspect.getfullargspec(function)[:4])


_add(inspect, "ArgSpec", _ArgSpec)
_add(inspect, "getargspec", _getargspec)
_add(sys, "setcheckinterval", lambda interval: None)
_add(sys, "getcheckinterval", lambda: 100)
_add(time, "clock", time.perf_counter)
_add(fractions, "gcd", math.gcd)
_add(platform, "linux_distribution", lambda *arguments, **options: ("", "", ""))
_add(platform, "dist", lambda *arguments, **options: ("", "", ""))
_add(asyncio, "coroutine", types.coroutine)
_add(asyncio, "async", asyncio.ensure_future)
_add(asyncio, "JoinableQueue", asyncio.Queue)
_add(base64, "encodestring", base64.encodebytes)
_add(base64, "decodestring", base64.decodebytes)
_add(threading.Thread, "isAlive", threading.Thread.is_alive)
_add(unittest, "_TextTestResult", unittest.TextTestResult)
_add(xml.etree, "cElementTree", xml.etree.ElementTree)
sys.modules.setdefault("xml.etree.cElementTree", xml.etree.ElementTree)

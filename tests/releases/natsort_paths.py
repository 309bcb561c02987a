"""Files sorted by name and number, extensions apart."""

from natsort import natsorted, ns

NAMES = [
    "Try.Me.Bug - 09 - One.Two.Three.[text].mkv",
    "Try.Me.Bug - 07 - One.Two.5.[text].mkv",
    "Try.Me.Bug - 08 - One.Two.Three[text].mkv",
]
for name in natsorted(NAMES, alg=ns.PATH):
    print(name)

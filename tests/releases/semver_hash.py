"""Versions that are equal, in a set."""

import semver

seen = {semver.VersionInfo.parse(text) for text in ("1.2.3+build.1", "1.2.3+build.2", "2.0.0")}
print(len(seen))

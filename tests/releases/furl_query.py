"""The query of an address that holds a semicolon."""

from furl import furl

address = furl("https://example.org/search?q=tea;milk&page=2")
print(address.args["q"], list(address.args))

"""Sessions for language models, by the Model Context Protocol.

One more loop around the session: eight tools over the session protocol, whose requests are carried
out by whatever it is given. It decides nothing about verdicts or questions. `docs/agents.md` is its
manual. The package `mcp` is needed only by `server.py`.
"""

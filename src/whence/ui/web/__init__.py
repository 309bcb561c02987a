"""The page: a server on the loopback interface, and what a browser shows of a session.

Starlette and uvicorn are imported only when a page is wanted (`whence[web]`). All verdicts and
strategies are the session's: the page shows what it says, and sends back what a person answers.
"""

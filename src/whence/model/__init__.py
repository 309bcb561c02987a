"""The vocabulary of algorithmic debugging: plain frozen data that every other layer shares.

Nothing here searches, reads or prints, and nothing here knows a language. The words are those of
the literature: a *call* is one activation, its *equation* is what one asks about, a *rule* is the
piece of source that is blamed, a *verdict* is what somebody said of an equation.
"""

"""What tests of whence, and of anything that plugs into whence, are made with.

Random trees with a known fault, somebody who answers by it, and the laws of the ports.
"""

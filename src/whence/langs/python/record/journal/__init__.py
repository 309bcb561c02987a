"""The journal: what a recorded program learns from the outside world, so that it can run again.

While recording, the journal notes all inputs that may differ from run to run: the time, random
numbers, what is read from files, directories, processes and sockets. A re-run receives the noted
answers in the same order instead. And it affects nothing: what it writes goes to files in a folder
of the re-run; what it sends, removes or starts is only reported as done.

`journalled_functions.py` lists the functions through which a program reaches the outside world,
`writing.py` serves the first run, `playing.py` the re-runs, and `kept_files.py` keeps the contents
of files that were read.
The function objects stay the same: `native/` exchanges the C functions behind them.

Invariant: the program cannot observe the journal, and a re-run changes nothing outside of its
folder. An input that the journal misses shows as a divergence, or stops the re-run.
"""

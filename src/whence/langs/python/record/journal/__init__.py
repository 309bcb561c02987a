"""The journal: what a recorded program learns from the world, so that it can be run again alone.

While recording, all that differs from run to run although the program does the same is noted: the
time, random numbers, what is read from files, directories, processes and sockets. When the program
is run again, none of that is asked for; what was noted is given once more, in the same order. And
nothing is done twice: what is written goes to files in a folder of the re-run; what is sent,
removed or started is only said to have been.

`journalled_functions.py` lists the functions through which a program reaches the outside world,
`writing.py` serves the first run, `playing.py` the re-runs, and `kept_files.py` keeps the contents
of files that were read.
The functions themselves stay what they are: `native/` exchanges what they lead to.

Invariant: with the journal on the program sees nothing different, and a re-run changes nothing
outside of its folder. What the journal does not know of shows as a divergence, or stops the re-run.
"""

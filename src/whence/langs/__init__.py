"""The debugged languages: how their programs are run, recorded and run again."""

"""What runs in the process of the debugged program.

The process is started with an order (`order`), which `order_execution` carries out: it records the
program (`record/`), runs it as `python` does (`run_as_python`), and in a re-run acts on the target
call, follows executed lines, tags values, opens a step debugger or leaves checkpoints. Nothing here
reads recordings.
"""

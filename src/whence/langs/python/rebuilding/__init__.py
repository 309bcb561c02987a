"""Writes a recorded call as source that makes it again, as a pytest test.

`value_source` and `call_source` write values and calls, `outcome_assertion` what is asserted,
`import_names` the imports; `program_modules` finds the modules, `pytest_source` joins all of it.
"""

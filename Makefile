# Every target sets up what it needs; nothing has to be installed or activated first.
# tools/environments.py makes the virtual environment and does nothing when it is up to date.

PYTHON ?= python3
ENV := .venvs/$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
# Away from stdin, which belongs to the program that is run in the environment.
environment = @$(PYTHON) tools/environments.py $(1) </dev/null

.PHONY: help demo test pythons quick lint format coverage docs soak sanitize bench package wheels lock clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1	\2/p' Makefile

demo: ## find the bug in a small Python program (answers may be piped in)
	$(call environment,terminal)
	@test -t 0 || answers="--answers -"; \
		$(ENV)/bin/whence run --no-session $$answers examples/orders.py || test $$? -eq 1

test: ## lint, then the tests on every CPython >= 3.11 at hand
	@$(PYTHON) tools/run_tests.py

pythons: ## download CPython 3.14 and 3.15 of Debian, for `make test` (root, Linux; 740 MB)
	@$(PYTHON) tools/debian_pythons.py

quick: ## lint, then the tests on $(PYTHON) only
	@$(PYTHON) tools/run_tests.py --quick

lint: ## ruff, mypy and the layers
	@$(PYTHON) tools/run_tests.py --lint

format: ## put the source in the project's format
	$(call environment,lint)
	@$(ENV)/bin/ruff check --select I --fix --quiet .
	@$(ENV)/bin/ruff format --quiet .

coverage: ## line and branch coverage of the tests, child processes included; fails below the floor
	$(call environment,terminal test coverage)
	@$(ENV)/bin/python tools/measure_coverage.py

docs: ## the documentation as a web site in build/docs; a broken link is an error
	$(call environment,docs)
	@$(ENV)/bin/sphinx-build -W --keep-going -q -b html docs build/docs
	@echo build/docs/index.html

soak: ## the long tests, part by part: all that have not passed on this commit, or PARTS="kills laws"
	$(call environment,terminal test bench)
	@$(ENV)/bin/python tools/soak.py $(PARTS)

sanitize: ## the tests of the C code under AddressSanitizer and UBSan
	$(call environment,terminal test)
	@$(ENV)/bin/python tools/sanitize.py

bench: ## questions and time per search strategy; what recording costs
	$(call environment,terminal bench tracers)
	@$(ENV)/bin/python bench/search.py
	@$(ENV)/bin/python bench/record.py --all-pythons

package: ## the sdist and a wheel in dist/, checked as a user would install them
	$(call environment,release)
	@$(ENV)/bin/python tools/check_package.py

wheels: ## wheels for every supported CPython on this platform, in dist/
	$(call environment,release)
	@$(ENV)/bin/cibuildwheel --output-dir dist

lock: ## take up the newest versions of all dependencies in constraints.txt
	$(call environment,release)
	@$(ENV)/bin/uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 \
		--upgrade --quiet --no-annotate --no-header --output-file constraints.txt

clean: ## remove everything that git does not keep, environments included
	@rm -rf .venvs .whence build dist src/*.egg-info .hypothesis .import_linter_cache .mypy_cache \
		.pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

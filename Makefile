# Two commands: `make demo` sets everything up and shows the main job; `make test` sets everything up and checks it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
USER_STAMP := $(VENV)/.installed-user
PIP_INSTALL := --quiet --no-compile -c constraints.txt  # modules are compiled when they are first imported
LINT := $(BIN)/ruff check src tests tools benchmarks && $(BIN)/ruff format --check src tests tools benchmarks && $(BIN)/mypy && $(BIN)/lint-imports

.PHONY: setup locked demo test test-full bench lint format docs notebooks site results sheet golden fuzz sbom audit clean

setup: $(STAMP)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(USER_STAMP): $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install $(PIP_INSTALL) -e '.[video,onnx]'
	touch $@

$(STAMP): $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install $(PIP_INSTALL) -e '.[dev]'
	touch $@ $(USER_STAMP)

locked: $(BIN)/python  # as setup, but every file that is installed has a hash in locked.txt
	$(BIN)/python -m tools.locked_install dev
	touch $(STAMP) $(USER_STAMP)

demo: $(USER_STAMP)
	rm -rf out/demo  # runs of an older version could not be resumed
	$(BIN)/python -m sidestep doctor || true
	$(BIN)/python -m sidestep run core --policy straight --policy stop --policy orca --policy social_force --policy mpc \
	    --workers 2 --video 1 --out out/demo/core
	$(BIN)/python -m sidestep run socnav --policy social_force --policy orca --policy cadrl --policy sampling \
	    --policy mpc --policy oracle --limit 12 --workers 2 --out out/demo/socnav
	$(BIN)/python -m sidestep run sidewalk-unit --policy follow_lane --policy expert --limit 6 --workers 2 --out out/demo/unit
	$(BIN)/python -m sidestep run sidewalk-reactive --policy follow_lane --policy expert --limit 18 --workers 2 \
	    --video 1 --out out/demo/reactive
	$(BIN)/python -m sidestep run sidewalk-long --policy expert --limit 1 --out out/demo/long
	$(BIN)/python -m sidestep run catalogue --policy straight --policy social_force --policy expert --limit 10 --workers 2 --out out/demo/catalogue
	$(BIN)/python -m sidestep run intersection --policy pid --policy comfort_zone --workers 2 --video 1 --out out/demo/intersection
	$(BIN)/python -m sidestep run street --policy human_driver --policy comfort_zone --policy anticipatory --limit 8 --workers 2 \
	    --out out/demo/street
	$(BIN)/python -m sidestep run protocol --policy straight --policy social_force --policy ilqr --policy ilqr_bc --set split=test \
	    --workers 2 --out out/demo/protocol
	$(BIN)/python -m sidestep report out/demo/socnav out/demo/core out/demo/unit out/demo/reactive out/demo/long \
	    out/demo/catalogue out/demo/intersection out/demo/street out/demo/protocol --out out/demo/report.html
	@echo "Open out/demo/report.html"

test: PYTEST := $(BIN)/python -m pytest -n 4 -m "not full" --durations=20 -rfEs
test-full: PYTEST := $(BIN)/python -m pytest -n 3 --durations=20 -rfEs

test test-full: $(STAMP)  # linters run beside the tests; what they found stands below
	@mkdir -p out
	@{ $(LINT); } >out/lint.txt 2>&1 & linters=$$!; \
	    $(PYTEST); tests=$$?; wait $$linters; found=$$?; \
	    cat out/lint.txt; exit $$((tests ? tests : found))

lint: $(STAMP)
	$(LINT)

format: $(STAMP)
	$(BIN)/ruff check --fix src tests tools benchmarks
	$(BIN)/ruff format src tests tools benchmarks

bench: $(STAMP)
	$(BIN)/python -m pip install $(PIP_INSTALL) -e '.[dev,bench]'
	$(BIN)/python -m sidestep bench --suite core

docs: $(STAMP)
	$(BIN)/python -m tools.write_metrics_page > docs/metrics.md
	$(BIN)/python -m tools.scenario_schema
	$(BIN)/python -m tools.write_api_page > docs/api.md

notebooks: $(STAMP)
	$(BIN)/python -m tools.notebooks

site: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "Open out/site/index.html"

golden: $(STAMP)
	$(BIN)/python -m tests.simulation.golden --write
	$(BIN)/python -m tests.simulation.golden --pairs --write

fuzz: $(STAMP)
	$(BIN)/python -m tests.fuzz --seconds 30 --workers 2

$(VENV)/.installed-security: $(STAMP)  # its packages are pinned in constraints.txt, too
	$(BIN)/python -m pip install $(PIP_INSTALL) -e '.[dev,security]'
	touch $@

sbom: $(VENV)/.installed-security
	mkdir -p out
	$(BIN)/cyclonedx-py environment $(BIN)/python --pyproject pyproject.toml --of JSON -o out/sbom.json
	@echo "CycloneDX 1.6: out/sbom.json"

audit: $(VENV)/.installed-security
	$(BIN)/pip-audit --strict --no-deps --disable-pip --progress-spinner off -r constraints.txt \
	    || { echo "Vulnerable packages, or the advisory service was out of reach: see above." >&2; exit 1; }

results: $(STAMP)
	$(BIN)/python -m tools.results

sheet: $(STAMP)
	$(BIN)/python -m tools.contact_sheet docs/images/contact_sheet.jpg

clean:
	rm -rf $(VENV) out runs .mypy_cache .ruff_cache .pytest_cache .hypothesis

# make demo · test · bench · lint · prove · sanitize · fuzz · coverage · clean
# Each target makes its environment in build/ first; nothing is left outside the checkout.
SHELL := /bin/bash
PY := build/venv/bin/python
# What Matplotlib, pytest and Java would otherwise leave in the home folder and in /tmp goes to build/,
# or is not made. Java is looked for when a target runs: the set-up may just have made it.
RUN = MPLCONFIGDIR="$(CURDIR)/build/matplotlib" PYTEST_DEBUG_TEMPROOT="$(CURDIR)/build" \
  SPARK_LAUNCHER_OPTS=-XX:-UsePerfData PATH="$(CURDIR)/build/venv/bin:$$PATH" PYTHONPATH="$(CURDIR)" \
  JAVA_HOME="$$([ -x build/java/bin/java ] && echo "$(CURDIR)/build/java" || echo "$$JAVA_HOME")"

SECONDS ?= 60

.PHONY: demo test bench lint prove sanitize fuzz coverage clean setup
setup:
	@.ci/setup.sh

demo: setup
	@$(RUN) $(PY) -m examples.flights $(ARGS)

test: setup
	@$(RUN) $(PY) -m pytest $(ARGS)

bench: setup
	@$(RUN) $(PY) -m tests.bench $(ARGS)

lint: setup
	@$(RUN) $(PY) -m tests.tidy.lint

prove: setup
	@$(RUN) $(PY) -m tests.prove $(ARGS)

sanitize: setup
	@cd transport_ext && for preset in asan tsan; do PATH="$(CURDIR)/build/venv/bin:$$PATH" cmake --workflow --preset $$preset || exit 1; done

fuzz: setup
	@$(RUN) $(PY) -m tests.fuzz $(SECONDS)

coverage: setup
	@$(RUN) $(PY) -m tests.prove coverage

clean:
	rm -rf build

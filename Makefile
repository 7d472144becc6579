# make demo · test · bench · lint · format · docs · prove · sanitize · fuzz · sim · sim-faults · coverage · clean
# Each target makes its environment in build/ first; nothing is left outside the checkout.
SHELL := /bin/bash
PY := build/venv/bin/python
# What Matplotlib, pytest and Java would otherwise leave in the home folder and in /tmp goes to build/,
# or is not made. Java is looked for when a target runs: the set-up may just have made it.
RUN = MPLCONFIGDIR="$(CURDIR)/build/matplotlib" PYTEST_DEBUG_TEMPROOT="$(CURDIR)/build" \
  SPARK_LAUNCHER_OPTS=-XX:-UsePerfData PATH="$(CURDIR)/build/venv/bin:$$PATH" PYTHONPATH="$(CURDIR)" \
  JAVA_HOME="$$([ -x build/java/bin/java ] && echo "$(CURDIR)/build/java" || echo "$$JAVA_HOME")"

SECONDS ?= 60

.PHONY: demo test bench lint format docs prove sanitize fuzz sim sim-build sim-faults coverage clean setup
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

format: setup
	@$(RUN) $(PY) -m tests.tidy.lint --write

docs: setup
	@.ci/docs.sh

prove: setup
	@$(RUN) $(PY) -m tests.prove $(ARGS)

sanitize: setup
	@cd transport_ext && for preset in asan tsan; do PATH="$(CURDIR)/build/venv/bin:$$PATH" cmake --workflow --preset $$preset || exit 1; done

fuzz: setup
	@$(RUN) $(PY) -m tests.fuzz $(SECONDS)

# make sim SEED=n: one run with its chronicle; make sim SEEDS=n [FROM=m]: n runs, from a random seed on.
SIM_BUILD := build/c/sim
sim-build: setup
	@PATH="$(CURDIR)/build/venv/bin:$$PATH" cmake -S transport_ext -B $(SIM_BUILD) -G Ninja > /dev/null
	@PATH="$(CURDIR)/build/venv/bin:$$PATH" cmake --build $(SIM_BUILD) --target $(or $(SIM_TARGET),sim) > $(SIM_BUILD)/build.log || { cat $(SIM_BUILD)/build.log; exit 1; }

sim: sim-build
	@if [ -n "$(SEED)" ]; then $(SIM_BUILD)/tests/sim/sim --seed $(SEED); \
	else $(SIM_BUILD)/tests/sim/sim --seeds $(or $(SEEDS),1000) --from $(or $(FROM),$(shell od -An -N4 -tu4 /dev/urandom)); fi

sim-faults: SIM_TARGET = sim-faults
sim-faults: sim-build
	@transport_ext/tests/sim/faults.sh $(SIM_BUILD)

coverage: setup
	@$(RUN) $(PY) -m tests.prove coverage

clean:
	rm -rf build

# make demo · test · check-ci · check-all · lint · format · docs · wheel · bench · bench-cluster ·
# chaos · compat · net · prove · sanitize · fuzz · sim · sim-faults · mutants · coverage · clean
# Each target makes its environment in build/ first; nothing is left outside the checkout.
SHELL := /bin/bash
PY := build/venv/bin/python
# What Matplotlib, pytest and Java would otherwise leave in the home folder and in /tmp goes to build/,
# or is not made. Java is looked for when a target runs: the set-up may just have made it. Compiled
# Python is kept also where the environment says no: hundreds of the tests' programs import rstream.
RUN = PYTHONDONTWRITEBYTECODE= MPLCONFIGDIR="$(CURDIR)/build/matplotlib" PYTEST_DEBUG_TEMPROOT="$(CURDIR)/build" \
  SPARK_LAUNCHER_OPTS=-XX:-UsePerfData PATH="$(CURDIR)/build/venv/bin:$$PATH" PYTHONPATH="$(CURDIR)" \
  JAVA_HOME="$$([ -x build/java/bin/java ] && echo "$(CURDIR)/build/java" || echo "$$JAVA_HOME")"

SECONDS ?= 60
# Seconds of fuzz for each of the thirteen targets of check-ci.
FUZZ_SECONDS ?= 4

.PHONY: demo test check-ci check-all lint format docs wheel bench prove sanitize fuzz sim sim-build
.PHONY: sim-faults mutants coverage clean setup bench-cluster chaos net compat
setup:
	@.ci/setup.sh

demo: setup
	@$(RUN) $(PY) -m examples.flights $(ARGS)

# What a change can break, on every floor. Three at a time, on two cores too: many tests wait.
WORKERS ?= 3
PYTEST = $(RUN) $(PY) -m pytest -n $(WORKERS)

test: setup
	@$(PYTEST) $(ARGS)

# What a finished change needs besides `make test` and before others get it: eight minutes.
check-ci: setup
	@$(RUN) $(PY) -m tests.tidy.lint --tools
	@$(RUN) $(PY) -m tests.fuzz $(FUZZ_SECONDS)
	@$(PYTEST) -m ci $(ARGS)

# Everything of `make test` and `make check-ci`, and what takes longer; once, on a finished commit.
check-all: lint
	@$(RUN) $(PY) -m tests.fuzz $(SECONDS)
	@$(PYTEST) -m "" $(ARGS)

bench: setup
	@$(RUN) $(PY) -m tests.bench $(ARGS)

# Spark to a Ray actor beside what people write by hand; build/bench/cluster.json.
bench-cluster: setup
	@$(RUN) $(PY) -m tests.bench.cluster $(ARGS)

# Rows from Spark to a Ray actor, while workers, readers and programs are killed.
ROWS ?= 1000000
KILLS ?= 10
DELIVERY ?= committed
LEDGER ?= file
chaos: setup
	@$(RUN) $(PY) -m tests.chaos --rows $(ROWS) --kills $(KILLS) --delivery $(DELIVERY) \
	  --ledger $(LEDGER) $(if $(SEED),--seed $(SEED))

# rstream and TCP through an emulated link, as root; an hour. Writes docs/results/network.md.
net: setup
	@$(RUN) $(PY) -m tests.net table --minutes 58 $(ARGS)
	@$(RUN) $(PY) -m tests.net picture
	@$(RUN) $(PY) -m tests.net page

# An older rstream beside this one; make compat OLD=commit.
compat: setup
	@$(RUN) $(PY) -m tests.compat $(if $(OLD),--old $(OLD))

lint: setup
	@$(RUN) $(PY) -m tests.tidy.lint

format: setup
	@$(RUN) $(PY) -m tests.tidy.lint --write

docs: setup
	@.ci/docs.sh

# A wheel that installs where there is no compiler, in build/wheel/. Needs neither Ray nor Spark.
wheel:
	@.ci/setup.sh wheel
	@PATH="$(CURDIR)/build/wheel-venv/bin:$$PATH" build/wheel-venv/bin/python -m tests.wheel

prove: setup
	@$(RUN) $(PY) -m tests.prove $(ARGS)

sanitize: setup
	@cd transport_ext && for preset in asan tsan; do PATH="$(CURDIR)/build/venv/bin:$$PATH" cmake --workflow --preset $$preset || exit 1; done

fuzz: setup
	@$(RUN) $(PY) -m tests.fuzz $(SECONDS)

# make sim SEED=n: one run with its chronicle; make sim SEEDS=n [FROM=m]: n runs, from a random seed on.
# Both with KEYS=always or KEYS=never: else the seed says whether the channels have a key.
SIM_BUILD := build/c/sim
sim-build: setup
	@PATH="$(CURDIR)/build/venv/bin:$$PATH" cmake -S transport_ext -B $(SIM_BUILD) -G Ninja > /dev/null
	@PATH="$(CURDIR)/build/venv/bin:$$PATH" cmake --build $(SIM_BUILD) --target $(or $(SIM_TARGET),sim) > $(SIM_BUILD)/build.log || { cat $(SIM_BUILD)/build.log; exit 1; }

sim: sim-build
	@if [ -n "$(SEED)" ]; then $(SIM_BUILD)/tests/sim/sim --seed $(SEED) $(if $(KEYS),--keys $(KEYS)); \
	else $(SIM_BUILD)/tests/sim/sim --seeds $(or $(SEEDS),1000) --from $(or $(FROM),$(shell od -An -N4 -tu4 /dev/urandom)) \
		$(if $(KEYS),--keys $(KEYS)); fi

sim-faults: SIM_TARGET = sim-faults
sim-faults: sim-build
	@transport_ext/tests/sim/faults.sh $(SIM_BUILD)

# Sixty faults in flow/ and loss/, one at a time; the tests of these rooms must find each.
mutants: setup
	@$(RUN) $(PY) -m tests.mutants $(ARGS)

coverage: setup
	@$(RUN) $(PY) -m tests.prove coverage

clean:
	rm -rf build
	find examples rstream tests -name __pycache__ -prune -exec rm -r {} +

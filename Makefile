# Two commands for a newcomer: `make demo` and `make test`. Both install what is missing first.
PYTHON ?= python3
VENV ?= .venv
# A plain version takes whatever build the package index offers; TORCH_INDEX picks another index (see the README).
TORCH ?= torch==2.13.0
TORCH_INDEX ?=
SECONDS ?= 20
BIN := $(VENV)/bin
SETUP := $(VENV)/.setup
SOURCES := setup.py pyproject.toml CMakeLists.txt package.xml $(wildcard msg/*.msg)

export ROS_AUTOMATIC_DISCOVERY_RANGE ?= LOCALHOST

.PHONY: setup demo test parity bench clean

setup: $(SETUP)

$(SETUP): $(SOURCES) scripts/system-libraries
	@scripts/system-libraries
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "setup: installing torch and the package's dependencies into $(VENV)"
	@$(BIN)/python -m pip install -q --disable-pip-version-check -U pip
	@$(BIN)/python -m pip install -q --disable-pip-version-check $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) '$(TORCH)'
	@PYTHONWARNINGS=ignore $(BIN)/python -m pip install -q --disable-pip-version-check -e '.[ros,sim,bag,lerobot,viz,bench,urdf,test]'
	@touch $@

demo: setup
	@$(BIN)/python -m oxygen_ros demo --seconds $(SECONDS)

test: setup
	@$(BIN)/python -m pytest

# The peers of pi0.5 (LeRobot, transformers) in an environment of their own, 1.5 GB, on fresh seeds or SEEDS="1 2".
PARITY := build/parity
$(PARITY)/.setup: test/parity/requirements.txt
	@test -x $(PARITY)/bin/python || $(PYTHON) -m venv $(PARITY)
	@echo "parity: installing the peers into $(PARITY)"
	@$(PARITY)/bin/python -m pip install -q --disable-pip-version-check $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) '$(TORCH)'
	@$(PARITY)/bin/python -m pip install -q --disable-pip-version-check -r $<
	@$(PARITY)/bin/python -m pip install -q --disable-pip-version-check --no-deps --ignore-requires-python lerobot==0.6.1
	@touch $@

parity: $(PARITY)/.setup
	@test/parity/run $(SEEDS)

# MODEL, SUITE and ARGS choose another one, for example `make bench SUITE=scaling ARGS='--plot rate.png'`.
MODEL ?= mini
SUITE ?= headline
bench: setup
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[bench]'
	@$(BIN)/python -m oxygen_ros bench --model $(MODEL) --suite $(SUITE) $(ARGS)

clean:
	rm -rf build $(VENV) oxygen_ros/msg oxygen_ros/_lib *.egg-info

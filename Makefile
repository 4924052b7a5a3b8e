# Every target sets itself up: .venv is created once and reused, the kernel is compiled when its sources change.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
NATIVE := CMakeLists.txt pyproject.toml $(wildcard src/lambdak/eigen/native/*)
PACKAGES := $(sort $(dir $(wildcard src/lambdak/*.py src/lambdak/*/*.py)))  # the install lists their modules
say = @printf '\033[1m==> %s\033[0m\n'

.PHONY: demo test lint bench docs sanitize clean

demo: $(VENV)/.stamp-kernel ## the main job, on data that ships with scikit-learn; its files go to lambdak-demo/
	$(BIN)/lambdak demo

test: $(VENV)/.stamp-kernel ## all tests and doctests
	$(say) "running the tests (about four minutes)"
	$(BIN)/python -m pytest

lint: $(VENV)/.stamp-kernel ## ruff and mypy
	$(say) "ruff and mypy"
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.stamp-kernel ## kernel speed against torch, in one run
	$(BIN)/python benchmarks/kernel.py

docs: $(VENV)/.stamp-docs ## the documentation, in site/
	$(say) "drawing the pictures and building the pages"
	$(BIN)/lambdak demo --out build/demo
	cp build/demo/*.png docs/pictures/
	$(BIN)/mkdocs build --strict

# -S keeps the editable install out of the way, so that the sanitized copy is the one imported.
sanitize: $(VENV)/.stamp-kernel ## the kernel's tests under AddressSanitizer and UBSan
	$(say) "building the kernel with sanitizers"
	$(BIN)/python -m pip --disable-pip-version-check -q install --no-build-isolation --no-deps --target build/sanitized \
	    --upgrade -Cbuild-dir=build/sanitize -Ccmake.define.LAMBDAK_SANITIZE=ON .
	$(say) "running the kernel's tests under the sanitizers"
	PYTHONPATH=build/sanitized:$$($(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))") \
	    LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 \
	    $(BIN)/python -S -m pytest -s -p no:cacheprovider tests/eigen

clean: ## remove everything that was built
	rm -rf $(VENV) build site lambdak-demo

$(VENV)/.stamp-venv:
	$(say) "creating $(VENV) (once)"
	$(PYTHON) -m venv $(VENV)
	$(PIP) install scikit-build-core nanobind cmake ninja
	@touch $@

$(VENV)/.stamp-tools: $(VENV)/.stamp-venv pyproject.toml
	$(say) "installing the libraries and tools (once)"
	$(PIP) install $$($(BIN)/python -c "import tomllib; p = tomllib.load(open('pyproject.toml', 'rb'))['project']; \
	    print(*p['dependencies'], *(r for e in ('plot', 'report', 'test', 'lint') for r in p['optional-dependencies'][e]))" | tr -d "'" )
	@touch $@

$(VENV)/.stamp-kernel: $(VENV)/.stamp-tools $(NATIVE) $(PACKAGES)
	$(say) "compiling the kernel (about half a minute, when its sources change)"
	$(PIP) install --no-build-isolation --no-deps -e .
	@touch $@

$(VENV)/.stamp-docs: $(VENV)/.stamp-kernel
	$(say) "installing the documentation tools (once)"
	$(PIP) install $$($(BIN)/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['optional-dependencies']['docs'])")
	@touch $@

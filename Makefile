# Every target sets itself up: .venv is created once and reused, each target installs only what it needs, and the
# kernel is compiled when its sources change.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python .ci/install.py
PYTEST := $(BIN)/python -m pytest --numprocesses=logical --maxprocesses=8 --dist=worksteal
NATIVE := CMakeLists.txt pyproject.toml $(wildcard src/lambdak/eigen/native/*)
PACKAGES := $(sort $(dir $(shell find src/lambdak -name '*.py')))  # the install lists their modules
say = @printf '\033[1m==> %s\033[0m\n'

# Tests start many processes: without compiled files each would compile all of lambdak and rewrite every assertion again.
unexport PYTHONDONTWRITEBYTECODE

SECONDS ?= 60
MINUTES ?=

.PHONY: demo test quick lowest lint bench docs pages sanitize fuzz wheel check-wheel release tools clean
.NOTPARALLEL:

demo: $(VENV)/.stamp-kernel ## the main job, on data that ships with scikit-learn; its files go to lambdak-demo/
	$(BIN)/lambdak demo

test: $(VENV)/.stamp-kernel $(VENV)/.stamp-test ## all tests and doctests
	$(say) "running all tests (about a quarter of an hour on two cores; make quick skips the slow ones)"
	$(PYTEST) --durations=20 --durations-min=1

quick: $(VENV)/.stamp-kernel $(VENV)/.stamp-test ## the tests that are not marked slow
	$(say) "running the quick tests (about a minute)"
	$(PYTEST) -m "not slow"

# On x86 Linux the registry's build brings CUDA along; elsewhere it is a CPU build of some 100 MB.
LOWEST := $(shell sed -n 's/^torch = \["torch>=\(.*\)"\]/torch==\1.0/p' pyproject.toml)

lowest: $(VENV)/.stamp-kernel $(VENV)/.stamp-test ## tests/torch against the lowest PyTorch that is promised
	$(say) "installing $(LOWEST) beside the one of the tests"
	@$(INSTALL) --target build/lowest --upgrade $(LOWEST)
	PYTHONPATH=build/lowest $(PYTEST) tests/torch

# mypy reads the types of PyTorch, which comes with the test tools.
lint: $(VENV)/.stamp-kernel $(VENV)/.stamp-test $(VENV)/.stamp-lint ## ruff and mypy
	$(say) "ruff and mypy"
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.stamp-kernel $(VENV)/.stamp-test ## kernel speed against torch, in one run
	$(BIN)/python benchmarks/kernel.py

# The API pages import every package, and so need what the tests need. Warnings are errors, and pages of before are gone.
SPHINX := $(BIN)/python -m sphinx -q -W --keep-going -j auto -b html -d build/doctrees

docs: $(VENV)/.stamp-kernel $(VENV)/.stamp-test $(VENV)/.stamp-docs ## the documentation with pictures and gallery, in site/
	$(say) "drawing the pictures, running the gallery and building the pages"
	$(BIN)/lambdak demo --out build/demo
	cd build/demo && cp effects.png quantiles.png ../../docs/pictures/
	@rm -rf site
	$(SPHINX) docs site
	$(BIN)/python .ci/check_site.py site
	$(say) "written: open $(CURDIR)/site/index.html"

pages: $(VENV)/.stamp-kernel $(VENV)/.stamp-test $(VENV)/.stamp-docs ## the same without running anything, and a link check
	$(say) "building the pages (under a minute; make docs also runs the gallery)"
	@rm -rf site
	$(SPHINX) -D plot_gallery=0 docs site
	$(BIN)/python .ci/check_site.py site --without-gallery
	$(say) "written: open $(CURDIR)/site/index.html"

# -S keeps the editable install out of the way, so that the sanitized copy is the one imported.
MEMORY := address,undefined
sanitized = $(INSTALL) -v --no-build-isolation --no-deps --target build/sanitized/$(1) --upgrade \
    -Cbuild-dir=build/sanitize/$(1) -Ccmake.define.LAMBDAK_SANITIZE=$(2) .
under = PYTHONPATH=build/sanitized/$(1):$$($(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))") \
    LD_PRELOAD="$(foreach library,$(2),$$(g++ -print-file-name=$(library).so))"
tests = $(BIN)/python -S -m pytest -s -p no:cacheprovider

sanitize: $(VENV)/.stamp-kernel $(VENV)/.stamp-test ## the kernel under AddressSanitizer, UBSan and ThreadSanitizer
	$(say) "building the kernel with AddressSanitizer and UBSan"
	$(call sanitized,memory,$(MEMORY))
	$(say) "running the kernel's tests under them"
	$(call under,memory,libasan libubsan) ASAN_OPTIONS=detect_leaks=0 $(tests) tests/eigen
	$(say) "building the kernel with ThreadSanitizer"
	$(call sanitized,thread,thread)
	$(say) "running the tests of the thread pool under it"
	$(call under,thread,libtsan) OPENBLAS_NUM_THREADS=1 \
	    TSAN_OPTIONS="die_after_fork=0 suppressions=.ci/thread-suppressions.txt" $(tests) tests/eigen/test_pool.py

fuzz: $(VENV)/.stamp-kernel $(VENV)/.stamp-test ## hostile files, tables and parameters, for SECONDS=60 or MINUTES=
	$(say) "fuzzing; make fuzz SECONDS=600 or MINUTES=10 says for how long"
	$(BIN)/python benchmarks/fuzz.py --seconds $(if $(MINUTES),$$((60 * $(MINUTES))),$(SECONDS))

wheel: $(VENV)/.stamp-kernel $(VENV)/.stamp-wheel ## wheel and source archive, in dist/
	$(say) "building wheel and source archive"
	@rm -rf dist
	@$(BIN)/python -m build --no-isolation --sdist --wheel >build/wheel.log || { cat build/wheel.log; exit 1; }
	@ls -sh1 dist

check-wheel: wheel ## both, installed where there is no compiler: the README's first lines and the demo
	@.ci/check-wheel $(CURDIR)/$(BIN)/python $(CURDIR)/dist

release: $(VENV)/.stamp-kernel ## check everything, build, and tag the version of pyproject.toml; nothing is uploaded
	@$(BIN)/python .ci/release.py check
	.ci/run
	@$(MAKE) --no-print-directory wheel
	@$(BIN)/python .ci/release.py tag

tools: $(VENV)/.stamp-kernel $(VENV)/.stamp-test $(VENV)/.stamp-lint $(VENV)/.stamp-docs $(VENV)/.stamp-wheel ## what the targets of CI install

clean: ## remove everything that was built
	rm -rf $(VENV) build dist site docs/gallery lambdak-demo

$(VENV)/.stamp-venv:
	@$(PYTHON) -c "import sys; sys.version_info >= (3, 11) or sys.exit('lambdak needs Python 3.11 or later; \
	    $(PYTHON) is %d.%d: name another one, as in make demo PYTHON=python3.12' % sys.version_info[:2])"
	$(say) "creating $(VENV) (once)"
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.stamp-base: $(VENV)/.stamp-venv pyproject.toml
	$(say) "installing the libraries (once)"
	@$(INSTALL) @build @dependencies @plot
	@touch $@

$(VENV)/.stamp-kernel: $(VENV)/.stamp-base $(NATIVE) $(PACKAGES)
	$(say) "compiling the kernel (about half a minute, when its sources change)"
	@$(INSTALL) -v --no-build-isolation --no-deps -e .
	@touch $@

$(VENV)/.stamp-%: $(VENV)/.stamp-base pyproject.toml
	$(say) "installing the $* tools (once)"
	@$(INSTALL) @$*
	@touch $@

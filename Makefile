# Two commands set everything up on a machine that has Python 3.11+ and make: `make demo`, `make test`.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
AUDIT  := .venv-audit
DEMO   := .demo
# The demo keeps its projects to itself.
IN_DEMO := DOWSE_CONFIG_DIR=$(DEMO)/config DOWSE_DATA_DIR=$(DEMO)/data

# Tests start dowse hundreds of times; without this, a machine that sets it compiles all of dowse each time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo scale-demo node-clients test check torture lock minilm docs screenshots eval bench audit audit-lock clean

demo: $(VENV)/installed
	@$(IN_DEMO) $(BIN)/dowse index examples/vault -p demo
	@echo
	$(IN_DEMO) $(BIN)/dowse search -p demo "why do the masts not carry a SIM card"

# The same vault in a real server: PostgreSQL with pgvector, started from a package.
scale-demo: $(VENV)/developing
	@$(BIN)/python tools/scale_demo.py

# One thread for each worker, as dowse itself has: more would only wait for each other.
test: $(VENV)/developing minilm
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n auto --durations 25 --durations-min 1

# Clients of MCP that are not in Python; with them, `make test` tries them too.
node-clients:
	npm install --prefix tests/front/mcp/node --no-save --no-audit --no-fund

# The campaigns that try to break dowse, at full length. The longest begin first, and a worker takes
# one test at a time, so that both end at about the same time.
torture: $(VENV)/developing
	$(BIN)/pytest tests/torture tests/crash tests/properties tests/contract tests/front/test_advice.py \
	  tests/unit/test_restore.py --torture --timeout 1200 -n 2 --dist load --maxschedchunk 1

check: $(VENV)/developing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The tests compare its vectors with those of another implementation. dowse's own model is here.
minilm: $(VENV)/developing
	@$(BIN)/python -m training.minilm

# What a user needs. Everything comes from the lock file, with hashes; dowse itself is this clone.
$(VENV)/installed: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --no-deps --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# What a developer needs in addition: tests, checks, and every optional format and language.
$(VENV)/developing: requirements-dev.lock $(VENV)/installed
	$(BIN)/pip install --quiet --no-deps --require-hashes -r requirements-dev.lock
	@touch $@

# The lock for users comes first: the one for developers adds to its versions, and changes none.
COMPILE = $(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes \
  --group build --no-emit-index-url --no-annotate --custom-compile-command "make lock"

lock:
	$(BIN)/pip install --quiet uv
	$(COMPILE) --output-file requirements.lock
	$(COMPILE) --group dev --extra formats --extra cjk --extra scale --constraint requirements.lock --output-file requirements-dev.lock

docs: $(VENV)/developing
	$(BIN)/python tools/reference.py docs
	$(BIN)/python tools/http_reference.py

# The pictures of the web page in docs/images; they need Chromium, and a font with Chinese and
# Japanese characters: apt-get install chromium fonts-noto-cjk
screenshots: $(VENV)/developing
	$(BIN)/python tools/screenshots.py

# DATA is a folder with one judged collection per folder: docs/, queries.jsonl, qrels.tsv.
# SETS names some of them, QUERIES asks so many of each: make eval DATA=FOLDER SETS=tldr,k8s-en
EVAL  = $(if $(SETS),--sets $(SETS)) $(if $(QUERIES),--queries $(QUERIES))
EXACT = $(if $(SETS),--sets $(SETS))

eval: $(VENV)/developing
	@test -n "$(DATA)" || { echo "Say where the collections are: make eval DATA=FOLDER"; exit 2; }
	@mkdir -p build
	$(BIN)/python benchmarks/fusion.py $(DATA) $(EVAL) --save build/chosen.json
	$(BIN)/python benchmarks/quality.py $(DATA) $(EVAL) --chosen build/chosen.json
	$(BIN)/python benchmarks/exact.py $(DATA) $(EXACT) --chosen build/chosen.json
	$(BIN)/python benchmarks/confidence.py $(DATA) $(EVAL)
	$(BIN)/python benchmarks/defaults.py $(DATA) $(EVAL)
	$(BIN)/python benchmarks/answers.py

# How fast dowse is: writes benchmarks/results/speed.md, and the pictures of docs/measurements.md.
# DATA is a folder of Markdown, by default the documents that ship.
#   make bench DATA=FOLDER CHUNKS=2000,20000,100000,1000000 FILES=100,1000 REQUESTS=10000 PEERS=all
# BEFORE is another checkout whose queries and start are timed next to these. All peers take 14 GB
# below build/; SQLite's FTS5, the only one by default, takes nothing.
CHUNKS   ?= 2000,20000
FILES    ?= 100
REQUESTS ?= 2000
PEERS    ?= fts5
COMMA    := ,
OF       := $(if $(DATA),--data $(DATA))
AND      := $(if $(BEFORE),--before $(BEFORE))
LARGEST   = --chunks $(lastword $(subst $(COMMA), ,$(CHUNKS)))

bench: $(VENV)/installed
	$(BIN)/python -m benchmarks.speed.growth $(OF) --chunks $(CHUNKS)
	$(BIN)/python -m benchmarks.speed.stages $(OF) $(LARGEST) $(AND)
	$(BIN)/python -m benchmarks.speed.clients $(OF) $(LARGEST)
	$(BIN)/python -m benchmarks.speed.first_answer $(OF) --files $(FILES)
	$(BIN)/python -m benchmarks.speed.edited $(OF)
	$(BIN)/python -m benchmarks.speed.start $(OF) $(AND)
	$(BIN)/python -m benchmarks.speed.memory $(OF) --requests $(REQUESTS)
	$(BIN)/python -m benchmarks.speed.recall $(OF) --files $(lastword $(subst $(COMMA), ,$(FILES)))
	$(BIN)/python -m benchmarks.speed.peers $(OF) --only $(PEERS)
	$(BIN)/python -m benchmarks.speed.pictures
	$(BIN)/python -m benchmarks.speed.report

# Known vulnerabilities, licences and a bill of materials of everything in the lock files.
# Its tools are in an environment of their own; it fails when nothing could be looked up.
audit: $(VENV)/developing $(AUDIT)/installed
	@rm -rf build/audit && mkdir -p build/audit
	-$(AUDIT)/bin/pip-audit --require-hashes --disable-pip -r requirements-dev.lock --progress-spinner off \
	  -f json -o build/audit/vulnerabilities.json 2> build/audit/pip-audit.log
	$(AUDIT)/bin/pip-licenses --python $(BIN)/python --from=mixed --format=json --output-file build/audit/licences.json
	$(AUDIT)/bin/cyclonedx-py environment $(BIN)/python --pyproject pyproject.toml --of JSON -o build/audit/bom.json
	$(BIN)/python tools/audit.py build/audit

$(AUDIT)/installed: tools/audit.lock
	$(PYTHON) -m venv $(AUDIT)
	$(AUDIT)/bin/pip install --quiet --no-deps --require-hashes -r tools/audit.lock
	@touch $@

audit-lock:
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile tools/audit.in --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --no-annotate --custom-compile-command "make audit-lock" --output-file tools/audit.lock

clean:
	rm -rf $(VENV) $(AUDIT) $(DEMO)

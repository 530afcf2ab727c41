# The front door. `make help` lists the verbs.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help rehearse rehearsal-down test-hosts test-hosts-down validate gang-demo generate translations unit test test-all test-faults test-machines bench lint docs release

PLAYBOOK := .venv/bin/ansible-playbook
INVENTORY ?= inventory/rehearsal
GENERATIONS ?= 1.22 1.34 1.35

# Ansible ignores ansible.cfg in a world-writable directory, unless it is named.
export ANSIBLE_CONFIG := $(CURDIR)/ansible.cfg

# Without bytecode every worker of the tests and every playbook compiles what it imports once more.
unexport PYTHONDONTWRITEBYTECODE

help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

rehearse: ## bring up a real Kubernetes on this machine, install on it, prove it, write reports/
	@requirements/setup.sh run
	$(PLAYBOOK) -i $(INVENTORY) playbooks/rehearsal.yml playbooks/site.yml

rehearsal-down: ## remove that Kubernetes, and all that it left on this machine
	@requirements/setup.sh run
	$(PLAYBOOK) -i $(INVENTORY) playbooks/rehearsal.yml -e rehearsal_cluster_state=absent

test-hosts: ## start openEuler-like hosts on this machine, to try roles on: INVENTORY=inventory/test-hosts
	@requirements/setup.sh run
	$(PLAYBOOK) -i inventory/test-hosts tests/hosts/packages.yml
	.venv/bin/python -m tests.hosts.lab up inventory/test-hosts

test-hosts-down: ## remove them, and all that they left on this machine
	@requirements/setup.sh run
	.venv/bin/python -m tests.hosts.lab down inventory/test-hosts

validate: ## judge a cluster that is there already: make validate INVENTORY=inventory/mine
	@requirements/setup.sh run
	$(PLAYBOOK) -i $(INVENTORY) playbooks/validate.yml

gang-demo: ## show what gang scheduling changes, scenario by scenario, each beside its control: SCENARIO=two-jobs
	@requirements/setup.sh run
	$(PLAYBOOK) -i $(INVENTORY) playbooks/{rehearsal,install,gang_demo}.yml $(if $(SCENARIO),-e '{"gang_demo_scenarios": ["$(SCENARIO)"]}')

generate: ## write what follows from other files: pages, files of roles, verdicts on recorded clusters; then look at git diff
	@requirements/setup.sh dev
	.venv/bin/python -m tests.generate

translations: ## list the texts that have no translation
	@requirements/setup.sh dev
	.venv/bin/python -m tests.wording

# A worker more than processors, because some tests wait; each worker collects for itself.
unit: ## the tests of pure code, without root and network: make unit TESTS=tests/unit/apply
	@requirements/setup.sh dev
	.venv/bin/pytest -q $(if $(TESTS),-n 0 $(TESTS),-n $$(nproc | awk '{print ($$1 < 7 ? $$1 + 1 : 8)}') -m "not long and not programs and not cluster" tests/unit tests/recorded tests/cases)

test: ## run the tests that protect each change, on rehearsal clusters made for it and removed after
	@requirements/setup.sh dev
	tests/run.sh -m "not long"

test-all: ## run every test, also those that take long: before a release; GENERATIONS=1.37 rehearses another one at its end
	@requirements/setup.sh dev
	KFV_TEST_TOOLS="1.22 1.34 1.35 1.37" tests/run.sh
	for generation in $(GENERATIONS); do \
	  KFV_TEST_GENERATION=$$generation tests/run.sh tests/integration/test_rehearsal_{cluster,life,platform}.py || exit 1; \
	done

test-faults: ## do every fault on purpose, once (docs/reliability.md): FAULTS="--case 12 --times 20"
	@requirements/setup.sh dev
	KFV_TEST_WORKERS=$${KFV_TEST_WORKERS:-2} tests/run.sh -p tests.faults.soak -m fault tests $(FAULTS)

test-machines: ## test on a real machine made for it (no hardware acceleration needed): systemd, cgroup v2, SELinux
	@requirements/setup.sh dev
	$(PLAYBOOK) -i inventory/test-hosts tests/machines/packages.yml
	KFV_TEST_MACHINES=1 .venv/bin/pytest -q tests/machines

bench: ## measure against named references (docs/performance.md): make bench BENCH="--release 1.9.1"
	@requirements/setup.sh run
	.venv/bin/python -m tests.bench $(BENCH)

lint: ## check style, types, playbooks, shell and the collection; every tool runs, whatever the others find
	@requirements/setup.sh dev
	@PATH="$(CURDIR)/.venv/bin:$$PATH"; status=0; \
	run() { echo "$$*"; "$$@" || status=1; }; \
	run ruff check; \
	run ruff check --preview --select PLW1514 gang_demo kubeflow_volcano plugins validators; \
	run ruff format --check; \
	run mypy; \
	run yamllint --strict .; \
	run ansible-lint --offline; \
	run .venv/bin/python -m tests.sanity; \
	run .venv/bin/python -m tests.generate --check; \
	run shellcheck .ci/run requirements/setup.sh tests/run.sh tests/hosts/lab/boot.sh tests/hosts/lab/rootfs/finish.sh; \
	exit $$status

docs: ## build the pages as a site in site/, English and Chinese, with search
	@requirements/setup.sh docs
	.venv/bin/python -m tests.pages.site

release: ## build, try and tag a release: make release VERSION=1.2.3; with CHECK=1 all but commit and tag
	@requirements/setup.sh dev
	.venv/bin/python -m tests.release $(if $(VERSION),--version $(VERSION)) $(if $(REPOSITORY),--repository $(REPOSITORY)) $(if $(CHECK),--check) $(RELEASE)

#!/usr/bin/env bash
# Builds the documentation into build/docs. Warnings are errors; links between pages are checked.
# The first run installs the tools into build/venv, so that the tests need not wait for them.
set -euo pipefail
cd "$(dirname "$0")/.."
stamp=build/venv/.docs
wanted=$(sha256sum pyproject.toml .ci/requirements.py | sha256sum)
if [ "$(cat $stamp 2>/dev/null)" != "$wanted" ]; then
  echo "docs: installing Sphinx"
  build/venv/bin/python .ci/requirements.py docs > build/docs-requirements.txt
  if ! build/venv/bin/python -m pip --disable-pip-version-check install -q \
      -r build/docs-requirements.txt > build/pip.log 2>&1; then
    echo "missing: pip could not install packages (no network or disk space?); its output:" >&2
    cat build/pip.log >&2
    exit 2
  fi
  printf '%s' "$wanted" > $stamp
fi
PYTHONPATH="$PWD" build/venv/bin/python -m sphinx -b html -q -W --keep-going -E \
  -d build/docs-doctrees docs build/docs
echo "docs: build/docs/index.html"

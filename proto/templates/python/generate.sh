#!/bin/sh
# Python stubs of the contract in ./gen, with types. Run it beside proto/, with grpcio-tools installed:
#   sh proto/templates/python/generate.sh
# The stubs of signet.authz come with the distribution signet-guard. Without the guard: --with-authz
set -eu
if [ "${1-}" = --with-authz ]; then skip=none; else skip=proto/signet/authz; fi
rm -rf gen
mkdir gen
find proto/signet proto/buf -name '*.proto' -not -path "$skip/*" | sort |
  xargs "${PYTHON:-python3}" -m grpc_tools.protoc -I proto --python_out=gen --pyi_out=gen --grpc_python_out=gen

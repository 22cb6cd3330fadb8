# What the scripts that make peers' Python environments share.

# make_venv PLACE: an environment with pip, unless it is there. Debian's python3 first: the interpreter on PATH may lack
# the venv module.
make_venv() {
  local python=python3
  if /usr/bin/python3 -c 'import ensurepip' 2>/dev/null; then python=/usr/bin/python3; fi
  [ -x "$1/bin/pip" ] || "$python" -m venv "$1"
}

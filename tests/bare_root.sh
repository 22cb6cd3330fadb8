#!/usr/bin/env bash
# Proves set-up on a bare Debian 12: debootstrap into a folder, copy the committed tree there, and run a
# command in it as a stranger would. By hand, as root; about 10 minutes and 5 GB.
#   tests/bare_root.sh DIRECTORY [COMMAND...]     default command: ./jobs/quickstart.sh
# The folder is kept, so that a second call goes on with it; remove it when done.
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,5p' "$0"; exit 2; }
[ "$(id -u)" = 0 ] || { echo "bare_root: needs root for chroot" >&2; exit 2; }
root=$1
shift
[ $# -gt 0 ] || set -- ./jobs/quickstart.sh
here=$(cd "$(dirname "$0")/.." && pwd)
command -v debootstrap >/dev/null || apt-get install -y -qq debootstrap >/dev/null

if [ ! -e "$root/.ready" ]; then
  debootstrap --variant=minbase bookworm "$root" "${DEBIAN_MIRROR:-}" >/dev/null
  # The machine's own way out: apt sources, pip settings, name resolution, certificates.
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  rm -f "$root/etc/apt/sources.list"
  for path in /etc/apt/sources.list /etc/apt/sources.list.d /etc/apt/apt.conf.d /etc/apt/auth.conf.d /etc/pip.conf; do
    [ -e "$path" ] && mkdir -p "$root$(dirname $path)" && cp -r "$path" "$root$(dirname $path)/"
  done
  touch "$root/.ready"
fi
mkdir -p "$root/proc" "$root/sys" "$root/dev" "$root/dev/shm" "$root/dev/pts"
mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
mountpoint -q "$root/sys" || mount -t sysfs sysfs "$root/sys"
mountpoint -q "$root/dev" || mount --bind /dev "$root/dev"
mountpoint -q "$root/dev/pts" || mount --bind /dev/pts "$root/dev/pts"
mountpoint -q "$root/dev/shm" || mount -t tmpfs tmpfs "$root/dev/shm"
trap 'umount "$root/dev/shm" "$root/dev/pts" "$root/dev" "$root/sys" "$root/proc" || true' EXIT

if [ ! -d "$root/physarum" ]; then
  mkdir "$root/physarum"
  git -C "$here" archive HEAD | tar -x -C "$root/physarum"
fi
# Certificates that the machine trusts for its package registries, also after ca-certificates is set up.
bundle=/etc/ssl/certs/ca-certificates.crt
mkdir -p "$root/etc/ssl/certs" "$root/opt"
[ -e "$bundle" ] && cp "$bundle" "$root/opt/ca.crt"
env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb LANG=C.UTF-8 \
  $(env | grep -E '^(PIP_|https?_proxy|HTTPS?_PROXY|no_proxy|NO_PROXY)' || true) PIP_CERT=/opt/ca.crt SSL_CERT_FILE=/opt/ca.crt \
  chroot "$root" /bin/bash -c 'cd /physarum && "$@"' bash "$@"

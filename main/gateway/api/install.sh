#!/bin/sh
# Installs Inglenook @version@ for this user, and joins this machine to the gateway
# at @url@.
#
#   curl -fsS @url@/install | sh -s -- <token> [options]
#
#   --prefix DIR   install under DIR instead of ~/.local
#   --yes          join over plain HTTP without asking
#   --service      without asking: start Inglenook now and whenever you log in
#   --as-root      allow root, which is otherwise refused
#
# Needs Node 24 or newer with npm, which it does not install. "inglenook uninstall" removes
# what it installs.
set -eu

gateway='@url@'
package='@name@'
version='@version@'
sha256='@sha256@'

fail() {
  echo "$1" >&2
  exit 1
}

check_node() {
  help='install it from https://nodejs.org, then run this command again.'
  if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
    fail "Inglenook needs Node 24 or newer with npm: $help"
  fi
  have=$(node -p process.versions.node)
  [ "${have%%.*}" -ge 24 ] || fail "Inglenook needs Node 24 or newer, and this is Node $have: $help"
}

fetch() {
  if command -v curl >/dev/null; then curl -fsS "$1"; else wget -qO- "$1"; fi
}

check_digest() {
  node -e '
    const digest = require("crypto").createHash("sha256");
    digest.update(require("fs").readFileSync(process.argv[1]));
    process.exitCode = digest.digest("hex") === process.argv[2] ? 0 : 1;
  ' "$1" "$sha256" || fail 'The SHA-256 of the package does not match this installer: nothing was installed.'
}

main() {
  token= prefix=$HOME/.local yes= service= as_root=
  while [ $# -gt 0 ]; do
    case $1 in
      --prefix)
        [ $# -gt 1 ] || fail '--prefix needs a directory.'
        prefix=$2
        shift
        ;;
      --yes) yes=--yes ;;
      --service) service=1 ;;
      --as-root) as_root=1 ;;
      -*) fail "Unknown option $1; the first lines of this installer list them all." ;;
      *) token=$1 ;;
    esac
    shift
  done
  [ ${#token} = 64 ] || fail 'The token is missing or incomplete: copy the whole command from "Add a machine" on the gateway.'
  if [ -z "$as_root" ] && [ "$(id -u)" = 0 ]; then
    fail 'Run this as the user that will run Inglenook, not as root; --as-root allows root.'
  fi
  check_node

  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  file=$folder/$package-$version.tgz
  fetch "$gateway/install/package.tgz" >"$file" || fail "The package could not be fetched from $gateway."
  check_digest "$file"

  echo "Installing Inglenook $version under $prefix ..."
  npm install --global --prefix "$prefix" --ignore-scripts --no-audit --no-fund --no-update-notifier \
    --loglevel=error "$file" </dev/null || fail 'npm could not install it; its error is above.'

  command=$prefix/bin/inglenook
  terminal=/dev/null
  if (: </dev/tty) 2>/dev/null; then terminal=/dev/tty; fi
  "$command" join $yes "$gateway" "$token" <"$terminal" ||
    fail "Inglenook is installed, but this machine has not joined. To try again: $command join $gateway <token>"

  if [ -z "$service" ] && [ "$terminal" = /dev/tty ]; then
    printf 'Start Inglenook now and whenever you log in? [y/N] '
    read -r answer <"$terminal" || answer=
    case $answer in [yY]*) service=1 ;; esac
  fi
  status=0
  if [ -n "$service" ]; then
    "$command" service install <"$terminal" || status=1
  fi
  if [ -z "$service" ]; then
    echo "To start it: $command start. To start it at every login: $command service install"
  elif [ $status != 0 ]; then
    echo "This machine has joined, but has no service. To start it: $command start"
  fi
  case :$PATH: in
    *":$prefix/bin:"*) ;;
    *) echo "Add $prefix/bin to your PATH to run inglenook by its name." ;;
  esac
  return $status
}

main "$@"

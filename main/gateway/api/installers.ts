export interface Installed {
  /** Of the gateway, as the other machine reaches it. */
  readonly url: string;
  readonly name: string;
  readonly version: string;
  readonly sha256: string;
}

export const unixLine = (url: string) => `curl -fsS ${url}/install | sh -s -- <token>`;

export const windowsLine = (url: string) =>
  `& ([scriptblock]::Create((irm ${url}/install.ps1))) <token>`;

/** The installer for Linux and macOS: POSIX sh, which runs nothing until it has arrived completely. */
export function unixInstaller({ url, name, version, sha256 }: Installed): string {
  return `#!/bin/sh
# Installs Inglenook ${version} for this user, and joins this machine to the gateway
# at ${url}.
#
#   curl -fsS ${url}/install | sh -s -- <token> [options]
#
#   --prefix DIR   install under DIR instead of ~/.local
#   --yes          join over plain HTTP without asking
#   --service      without asking: start Inglenook now and whenever you log in
#   --as-root      allow root, which is otherwise refused
#
# Needs Node 24 or newer with npm, which it does not install. "inglenook uninstall" removes
# what it installs.
set -eu

gateway='${url}'
package='${name}'
version='${version}'
sha256='${sha256}'

${BODY}`;
}

const BODY = `fail() {
  echo "$1" >&2
  exit 1
}

check_node() {
  help='install it from https://nodejs.org, then run this command again.'
  if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
    fail "Inglenook needs Node 24 or newer with npm: $help"
  fi
  have=$(node -p process.versions.node)
  [ "\${have%%.*}" -ge 24 ] || fail "Inglenook needs Node 24 or newer, and this is Node $have: $help"
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
  [ \${#token} = 64 ] || fail 'The token is missing or incomplete: copy the whole command from "Add a machine" on the gateway.'
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
  npm install --global --prefix "$prefix" --ignore-scripts --no-audit --no-fund --no-update-notifier \\
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
`;

/** The installer for Windows PowerShell 5 and newer. */
export function windowsInstaller({ url, name, version, sha256 }: Installed): string {
  return `# Installs Inglenook ${version} for this user, and joins this machine to the gateway
# at ${url}.
#
#   & ([scriptblock]::Create((irm ${url}/install.ps1))) <token> [options]
#
#   -Prefix DIR   install under DIR instead of %LOCALAPPDATA%\\Programs\\inglenook
#   -Yes          join over plain HTTP without asking
#   -Service      start Inglenook now and whenever you log in
#   -AsAdmin      allow an administrator's shell, which is otherwise refused
#
# Needs Node 24 or newer with npm, which it does not install. "inglenook uninstall" removes
# what it installs.
param(
  [Parameter(Mandatory = $true)][string]$Token,
  [string]$Prefix = "$env:LOCALAPPDATA\\Programs\\inglenook",
  [switch]$Yes,
  [switch]$Service,
  [switch]$AsAdmin
)
$ErrorActionPreference = 'Stop'
# The exit codes of programs are checked below, in every version of PowerShell.
$PSNativeCommandUseErrorActionPreference = $false
# Windows PowerShell 5 spends most of a download on drawing the progress bar.
$ProgressPreference = 'SilentlyContinue'
$gateway = '${url}'

if ($Token.Length -ne 64) {
  throw 'The token is incomplete: copy the whole command from "Add a machine" on the gateway.'
}
$user = [Security.Principal.WindowsPrincipal][Security.Principal.WindowsIdentity]::GetCurrent()
if (-not $AsAdmin -and $user.IsInRole([Security.Principal.WindowsBuiltInRole]::Administrator)) {
  throw 'Run this as the user that will run Inglenook, not as an administrator; -AsAdmin allows it.'
}
# Not npm.ps1, which the execution policy may forbid.
$npm = Get-Command -Name @('npm.cmd', 'npm.exe') -ErrorAction SilentlyContinue | Select-Object -First 1
$node = Get-Command node -ErrorAction SilentlyContinue
if (-not $npm -or -not $node -or [int](node -p 'parseInt(process.versions.node)') -lt 24) {
  throw 'Inglenook needs Node 24 or newer with npm: install it from https://nodejs.org, then run this command again.'
}

$file = Join-Path ([IO.Path]::GetTempPath()) '${name}-${version}.tgz'
try {
  Invoke-WebRequest -UseBasicParsing "$gateway/install/package.tgz" -OutFile $file
  if ((Get-FileHash -LiteralPath $file -Algorithm SHA256).Hash -ne '${sha256}') {
    throw 'The SHA-256 of the package does not match this installer: nothing was installed.'
  }
  Write-Host "Installing Inglenook ${version} under $Prefix ..."
  & $npm install --global --prefix $Prefix --ignore-scripts --no-audit --no-fund --no-update-notifier '--loglevel=error' $file
  if ($LASTEXITCODE -ne 0) { throw 'npm could not install it; its error is above.' }
} finally {
  Remove-Item -LiteralPath $file -ErrorAction SilentlyContinue
}

$command = Join-Path $Prefix 'inglenook.cmd'
$words = @('join', $gateway, $Token)
if ($Yes) { $words += '--yes' }
& $command @words
if ($LASTEXITCODE -ne 0) {
  throw "Inglenook is installed, but this machine has not joined. To try again: & \`"$command\`" join $gateway <token>"
}

if (-not $Service -and [Environment]::UserInteractive -and -not [Console]::IsInputRedirected) {
  # Read-Host throws in a shell that was started with -NonInteractive.
  try { $answer = Read-Host 'Start Inglenook now and whenever you log in? [y/N]' } catch { $answer = '' }
  $Service = $answer -match '^y'
}
if (-not $Service) {
  Write-Host "To start it: & \`"$command\`" start. To start it at every login: & \`"$command\`" service install"
  return
}
& $command service install
if ($LASTEXITCODE -ne 0) {
  throw "This machine has joined, but has no service. To start it: & \`"$command\`" start"
}
`;
}

# Installs Inglenook @version@ for this user, and joins this machine to the gateway
# at @url@.
#
#   & ([scriptblock]::Create((irm @url@/install.ps1))) <token> [options]
#
#   -Prefix DIR   install under DIR instead of %LOCALAPPDATA%\Programs\inglenook
#   -Yes          join over plain HTTP without asking
#   -Service      start Inglenook now and whenever you log in
#   -AsAdmin      allow an administrator's shell, which is otherwise refused
#
# Needs Node 24 or newer with npm, which it does not install. "inglenook uninstall" removes
# what it installs.
param(
  [Parameter(Mandatory = $true)][string]$Token,
  [string]$Prefix = "$env:LOCALAPPDATA\Programs\inglenook",
  [switch]$Yes,
  [switch]$Service,
  [switch]$AsAdmin
)
$ErrorActionPreference = 'Stop'
# The exit codes of programs are checked below, in every version of PowerShell.
$PSNativeCommandUseErrorActionPreference = $false
# Windows PowerShell 5 spends most of a download on drawing the progress bar.
$ProgressPreference = 'SilentlyContinue'
$gateway = '@url@'

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

$file = Join-Path ([IO.Path]::GetTempPath()) '@name@-@version@.tgz'
try {
  Invoke-WebRequest -UseBasicParsing "$gateway/install/package.tgz" -OutFile $file
  if ((Get-FileHash -LiteralPath $file -Algorithm SHA256).Hash -ne '@sha256@') {
    throw 'The SHA-256 of the package does not match this installer: nothing was installed.'
  }
  Write-Host "Installing Inglenook @version@ under $Prefix ..."
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
  throw "Inglenook is installed, but this machine has not joined. To try again: & `"$command`" join $gateway <token>"
}

if (-not $Service -and [Environment]::UserInteractive -and -not [Console]::IsInputRedirected) {
  # Read-Host throws in a shell that was started with -NonInteractive.
  try { $answer = Read-Host 'Start Inglenook now and whenever you log in? [y/N]' } catch { $answer = '' }
  $Service = $answer -match '^y'
}
if (-not $Service) {
  Write-Host "To start it: & `"$command`" start. To start it at every login: & `"$command`" service install"
  return
}
& $command service install
if ($LASTEXITCODE -ne 0) {
  throw "This machine has joined, but has no service. To start it: & `"$command`" start"
}

import { join } from 'node:path';
import type { Program, Service } from './manager.ts';

/** For the installing user, or for the whole machine. */
type Scope = 'user' | 'system';

const NAME = 'switchyard.service';
const SYSTEM_DIRECTORY = '/etc/systemd/system';

export function userService(program: Program, configHome: string): Service {
  return service(program, 'user', join(configHome, 'systemd/user', NAME), [
    '"loginctl enable-linger" lets it run while no one is logged in.',
  ]);
}

/** Runs as its own user, with its data in /var/lib/switchyard. */
export function systemService(program: Program): Service {
  return service(program, 'system', join(SYSTEM_DIRECTORY, NAME), [
    'Its data directory is /var/lib/switchyard: set SWITCHYARD_DATA_DIR to that for other commands, as root.',
  ]);
}

function service(program: Program, scope: Scope, file: string, notes: readonly string[]): Service {
  const systemctl =
    scope === 'user' ? (['systemctl', '--user'] as const) : (['systemctl'] as const);
  return {
    file,
    text: systemdUnit(program, scope),
    encoding: 'utf8',
    // Fails in most containers, and under another init system.
    reachable: [...systemctl, 'show-environment'],
    // "restart" stops the old process.
    replaces: [],
    install: [
      [...systemctl, 'daemon-reload'],
      [...systemctl, 'enable', NAME],
      [...systemctl, 'restart', NAME],
    ],
    remove: [[...systemctl, 'disable', '--now', NAME]],
    forget: [[...systemctl, 'daemon-reload']],
    isActive: [...systemctl, 'is-active', '--quiet', NAME],
    notes,
    log: scope === 'user' ? 'journalctl --user -u switchyard' : 'journalctl -u switchyard',
  };
}

/** More than the 30 s for which running requests may go on. */
const STOP_SECONDS = 45;

export function systemdUnit({ command, dataDirectory }: Program, scope: Scope): string {
  const isSystem = scope === 'system';
  const directory = isSystem ? '%S/switchyard' : dataDirectory?.replaceAll('%', '%%');
  const environment =
    directory === undefined ? [] : [`Environment=${quoted(`SWITCHYARD_DATA_DIR=${directory}`)}`];
  return `# Written by "switchyard service install".
[Unit]
Description=Switchyard, an LLM gateway
${isSystem ? 'Wants=network-online.target\nAfter=network-online.target\n' : ''}StartLimitIntervalSec=300
StartLimitBurst=10

[Service]
Type=notify
# systemd-notify sends from its own process.
NotifyAccess=all
ExecStart=${command.map((word) => quoted(word.replaceAll('%', '%%').replaceAll('$', '$$$$'))).join(' ')}
${environment.join('\n')}
Restart=on-failure
RestartSec=5
WatchdogSec=60
TimeoutStopSec=${STOP_SECONDS}
KillMode=mixed
UMask=0077

${(isSystem ? [...HARDENING, ...SYSTEM_HARDENING] : HARDENING).join('\n')}

[Install]
WantedBy=${isSystem ? 'multi-user.target' : 'default.target'}
`.replaceAll(/\n{3,}/g, '\n\n');
}

/** Needs no namespaces, which not every kernel allows users to create. */
const HARDENING = [
  'NoNewPrivileges=yes',
  'LockPersonality=yes',
  'RestrictRealtime=yes',
  'RestrictSUIDSGID=yes',
  'RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK',
  'SystemCallArchitectures=native',
];

const SYSTEM_HARDENING = [
  'DynamicUser=yes',
  'StateDirectory=switchyard',
  'StateDirectoryMode=0700',
  'CapabilityBoundingSet=',
  'ProtectSystem=strict',
  'ProtectHome=yes',
  'PrivateTmp=yes',
  'ProtectKernelTunables=yes',
  'ProtectKernelModules=yes',
  'ProtectKernelLogs=yes',
  'ProtectControlGroups=yes',
  'ProtectHostname=yes',
  'RestrictNamespaces=yes',
  'SystemCallFilter=@system-service',
  'SystemCallErrorNumber=EPERM',
  '# Left out: PrivateDevices and ProtectClock, which hide the GPU; MemoryDenyWriteExecute, which V8 cannot work under.',
];

/** Quotes a word of a unit file (systemd.syntax(7)). */
const quoted = (word: string) => `"${word.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;

/** Directories that a system unit cannot see. */
const HIDDEN = ['/home/', '/root/', '/run/user/', '/tmp/', '/var/tmp/'];

/** A path of the program that a system unit could not read; null if there is none. */
export function hiddenPath({ command }: Program): string | null {
  return command.find((word) => HIDDEN.some((start) => word.startsWith(start))) ?? null;
}

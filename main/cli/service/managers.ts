import { join, win32 } from 'node:path';

/** The program that a service manager runs. */
export interface Program {
  readonly command: readonly [string, ...string[]];
  /** Null: the default for the user that the service runs as. */
  readonly dataDirectory: string | null;
}

/** A service as its manager needs it: a file and command lines. */
export interface Service {
  readonly file: string;
  readonly text: string;
  readonly encoding: 'utf8' | 'utf16le';
  /** Fails if the manager is not running; null for one that always is. */
  readonly reachable: CommandLine | null;
  /** Run before the file of an earlier installation is replaced; failures are ignored. */
  readonly replaces: readonly CommandLine[];
  /** Run after the file is written. */
  readonly install: readonly CommandLine[];
  /** Run before the file is removed. */
  readonly remove: readonly CommandLine[];
  /** Run after the file is removed. */
  readonly forget: readonly CommandLine[];
  /** Exits with 0 while the service runs. */
  readonly isActive: CommandLine;
  /** Shown to the user after the installation. */
  readonly notes: readonly string[];
  /** The log's path, or the command that shows it, as in `journalctl --user -u inglenook`. */
  readonly log: string;
}

export type CommandLine = readonly [string, ...string[]];

/** For text content in XML. */
const xmlText = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** For the installing user, or for the whole machine. */
type Scope = 'user' | 'system';

const UNIT = 'inglenook.service';
const SYSTEM_DIRECTORY = '/etc/systemd/system';

export function userService(program: Program, configHome: string): Service {
  return service(program, 'user', join(configHome, 'systemd/user', UNIT), [
    '"loginctl enable-linger" lets it run while no one is logged in.',
  ]);
}

/** Runs as its own user, with its data in /var/lib/inglenook. */
export function systemService(program: Program): Service {
  return service(program, 'system', join(SYSTEM_DIRECTORY, UNIT), [
    'Its data directory is /var/lib/inglenook: set INGLENOOK_DATA_DIR to that for other commands, as root.',
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
      [...systemctl, 'enable', UNIT],
      [...systemctl, 'restart', UNIT],
    ],
    remove: [[...systemctl, 'disable', '--now', UNIT]],
    forget: [[...systemctl, 'daemon-reload']],
    isActive: [...systemctl, 'is-active', '--quiet', UNIT],
    notes,
    log: scope === 'user' ? 'journalctl --user -u inglenook' : 'journalctl -u inglenook',
  };
}

/** More than the 30 s for which running requests may go on. */
const STOP_SECONDS = 45;

export function systemdUnit({ command, dataDirectory }: Program, scope: Scope): string {
  const isSystem = scope === 'system';
  const directory = isSystem ? '%S/inglenook' : dataDirectory?.replaceAll('%', '%%');
  const environment =
    directory === undefined ? [] : [`Environment=${unitWord(`INGLENOOK_DATA_DIR=${directory}`)}`];
  return `# Written by "inglenook service install".
[Unit]
Description=Inglenook, an LLM gateway
${isSystem ? 'Wants=network-online.target\nAfter=network-online.target\n' : ''}StartLimitIntervalSec=300
StartLimitBurst=10

[Service]
Type=notify
# systemd-notify sends from its own process.
NotifyAccess=all
ExecStart=${command.map((word) => unitWord(word.replaceAll('%', '%%').replaceAll('$', '$$$$'))).join(' ')}
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
  'StateDirectory=inglenook',
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
const unitWord = (word: string) => `"${word.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;

/** Directories that a system unit cannot see. */
const HIDDEN = ['/home/', '/root/', '/run/user/', '/tmp/', '/var/tmp/'];

/** A path of the program that a system unit could not read; null if there is none. */
export function hiddenPath({ command }: Program): string | null {
  return command.find((word) => HIDDEN.some((start) => word.startsWith(start))) ?? null;
}

const AGENT_LABEL = 'inglenook';

interface LaunchdUser {
  readonly home: string;
  readonly uid: number;
  /** In the data directory that the service uses. */
  readonly logDirectory: string;
}

export function launchdService(program: Program, user: LaunchdUser): Service {
  const file = join(user.home, 'Library/LaunchAgents', `${AGENT_LABEL}.plist`);
  const domain = `gui/${user.uid}`;
  const bootOut = ['launchctl', 'bootout', `${domain}/${AGENT_LABEL}`] as const;
  return {
    file,
    text: launchdPlist(program),
    encoding: 'utf8',
    reachable: null,
    // launchd refuses a second service of the same name.
    replaces: [bootOut],
    install: [
      ['launchctl', 'enable', `${domain}/${AGENT_LABEL}`],
      ['launchctl', 'bootstrap', domain, file],
    ],
    remove: [bootOut],
    forget: [],
    isActive: ['launchctl', 'print', `${domain}/${AGENT_LABEL}`],
    notes: ['It starts when you log in.'],
    log: user.logDirectory,
  };
}

/** launchd.plist(5). The log goes to its file, because launchd keeps none. */
export function launchdPlist({ command, dataDirectory }: Program): string {
  const environment =
    dataDirectory === null
      ? ''
      : `  <key>EnvironmentVariables</key>
  <dict>
    <key>INGLENOOK_DATA_DIR</key>
    <string>${xmlText(dataDirectory)}</string>
  </dict>
`;
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${AGENT_LABEL}</string>
  <key>ProgramArguments</key>
  <array>
${command.map((word) => `    <string>${xmlText(word)}</string>`).join('\n')}
  </array>
${environment}  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ThrottleInterval</key>
  <integer>10</integer>
  <key>ExitTimeOut</key>
  <integer>45</integer>
  <key>ProcessType</key>
  <string>Interactive</string>
  <key>Umask</key>
  <integer>63</integer>
</dict>
</plist>
`;
}

const TASK = 'Inglenook';

interface TaskPlaces {
  /** With its domain, as in `DESKTOP\\ann`. */
  readonly user: string;
  /** Where the task's XML file is kept. */
  readonly dataDirectory: string;
}

/** A scheduled task of Windows that starts when its user logs on; a real service would need a separate program. */
export function scheduledTask(program: Program, { user, dataDirectory }: TaskPlaces): Service {
  const file = win32.join(dataDirectory, 'service.xml');
  const end = ['schtasks', '/End', '/TN', TASK] as const;
  return {
    file,
    text: taskXml(program, user),
    // schtasks reads no other encoding reliably.
    encoding: 'utf16le',
    reachable: null,
    // A task that already runs is not started again.
    replaces: [end],
    install: [
      ['schtasks', '/Create', '/TN', TASK, '/XML', file, '/F'],
      ['schtasks', '/Run', '/TN', TASK],
    ],
    remove: [end, ['schtasks', '/Delete', '/TN', TASK, '/F']],
    forget: [],
    isActive: [
      'powershell',
      '-NoProfile',
      '-Command',
      `if ((Get-ScheduledTask -TaskName ${TASK}).State -ne 'Running') { exit 1 }`,
    ],
    notes: ['It starts when you log on.'],
    log: win32.join(dataDirectory, 'logs'),
  };
}

/** A task has no environment, so the data directory is set by cmd.exe; conhost's `--headless` hides its console. */
export function taskXml({ command, dataDirectory }: Program, user: string): string {
  const program = command.map(commandWord).join(' ');
  const line =
    dataDirectory === null
      ? `--headless ${program}`
      : `--headless cmd.exe /s /c "set "INGLENOOK_DATA_DIR=${dataDirectory.replaceAll('%', '%%')}"&& ${program}"`;
  return `<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>Inglenook, an LLM gateway</Description>
  </RegistrationInfo>
  <Triggers>
    <LogonTrigger>
      <UserId>${xmlText(user)}</UserId>
    </LogonTrigger>
  </Triggers>
  <Principals>
    <Principal id="Author">
      <UserId>${xmlText(user)}</UserId>
      <LogonType>InteractiveToken</LogonType>
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure>
      <Interval>PT1M</Interval>
      <Count>10</Count>
    </RestartOnFailure>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>conhost.exe</Command>
      <Arguments>${xmlText(line)}</Arguments>
    </Exec>
  </Actions>
</Task>
`;
}

/** Windows file names cannot contain quotation marks. */
const commandWord = (word: string) => (/[\s&()^]/.test(word) ? `"${word}"` : word);

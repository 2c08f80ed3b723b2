import { join, win32 } from 'node:path';
import type { CommandLine } from '../run-program.ts';

/** The program that a service manager runs. */
export interface Program {
  readonly command: readonly [string, ...string[]];
  /** Null for the default of the user that the service runs as. */
  readonly dataDirectory: string | null;
}

/** A service as its manager needs it: a file and command lines. */
export interface Service {
  readonly file: string;
  readonly text: string;
  readonly encoding: 'utf8' | 'utf16le';
  /** Fails if the manager is not running; empty for one that always is. */
  readonly reachable: readonly CommandLine[];
  /** Run after the file is written. */
  readonly install: readonly CommandLine[];
  /** Run before the file is removed or replaced. */
  readonly remove: readonly CommandLine[];
  /** Exits with 0 while the service runs. */
  readonly isActive: CommandLine;
  /** Shown to the user after the installation. */
  readonly note: string;
  /** The log's path, or the command that shows it, as in `journalctl --user -u inglenook`. */
  readonly log: string;
}

const UNIT = 'inglenook.service';

export function systemdService(program: Program, configHome: string): Service {
  const systemctl = ['systemctl', '--user'] as const;
  return {
    file: join(configHome, 'systemd/user', UNIT),
    text: systemdUnit(program),
    encoding: 'utf8',
    // It fails in most containers, and under another init system.
    reachable: [[...systemctl, 'show-environment']],
    install: [
      [...systemctl, 'daemon-reload'],
      [...systemctl, 'enable', UNIT],
      [...systemctl, 'restart', UNIT],
    ],
    remove: [[...systemctl, 'disable', '--now', UNIT]],
    isActive: [...systemctl, 'is-active', '--quiet', UNIT],
    note: '"loginctl enable-linger" lets it run while no one is logged in.',
    log: 'journalctl --user -u inglenook',
  };
}

/** Needs no namespaces, which not every kernel lets users create; stops after the 30 s that requests may take. */
export function systemdUnit({ command, dataDirectory }: Program): string {
  const start = command.map((word) => unitWord(word.replaceAll('$', '$$$$'))).join(' ');
  const environment =
    dataDirectory === null
      ? ''
      : `Environment=${unitWord(`INGLENOOK_DATA_DIR=${dataDirectory}`)}\n`;
  return `# Written by "inglenook service install".
[Unit]
Description=Inglenook, an LLM gateway
StartLimitIntervalSec=300
StartLimitBurst=10

[Service]
ExecStart=${start}
${environment}Restart=on-failure
RestartSec=5
TimeoutStopSec=45
KillMode=mixed
UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
SystemCallArchitectures=native

[Install]
WantedBy=default.target
`;
}

/** Quotes a word of a unit file (systemd.syntax(7)). */
const unitWord = (word: string) =>
  `"${word.replaceAll('%', '%%').replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;

const LABEL = 'inglenook';

/** `logDirectory` is in the data directory that the service uses. */
export function launchdService(
  program: Program,
  home: string,
  uid: number,
  logDirectory: string,
): Service {
  const file = join(home, 'Library/LaunchAgents', `${LABEL}.plist`);
  const domain = `gui/${uid}`;
  return {
    file,
    text: launchdPlist(program),
    encoding: 'utf8',
    reachable: [],
    install: [
      ['launchctl', 'enable', `${domain}/${LABEL}`],
      ['launchctl', 'bootstrap', domain, file],
    ],
    remove: [['launchctl', 'bootout', `${domain}/${LABEL}`]],
    isActive: ['launchctl', 'print', `${domain}/${LABEL}`],
    note: 'It starts when you log in.',
    log: logDirectory,
  };
}

/** launchd.plist(5). The log goes to its file, because launchd keeps none. */
export function launchdPlist({ command, dataDirectory }: Program): string {
  const words = command.map((word) => `    <string>${xmlText(word)}</string>`).join('\n');
  const environment =
    dataDirectory === null
      ? ''
      : `  <key>EnvironmentVariables</key>
  <dict><key>INGLENOOK_DATA_DIR</key><string>${xmlText(dataDirectory)}</string></dict>
`;
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key><string>${LABEL}</string>
  <key>ProgramArguments</key>
  <array>
${words}
  </array>
${environment}  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key>
  <dict><key>SuccessfulExit</key><false/></dict>
  <key>ThrottleInterval</key><integer>10</integer>
  <key>ExitTimeOut</key><integer>45</integer>
  <key>ProcessType</key><string>Interactive</string>
  <key>Umask</key><integer>63</integer>
</dict>
</plist>
`;
}

const TASK = 'Inglenook';
const IS_RUNNING = `if ((Get-ScheduledTask -TaskName ${TASK}).State -ne 'Running') { exit 1 }`;

/**
 * A scheduled task of Windows that starts when its user logs on; a real service would need a separate program. `user` has
 * the domain, as in `DESKTOP\\ann`.
 */
export function scheduledTask(program: Program, user: string, dataDirectory: string): Service {
  const file = win32.join(dataDirectory, 'service.xml');
  return {
    file,
    text: taskXml(program, user),
    // schtasks reads no other encoding reliably.
    encoding: 'utf16le',
    reachable: [],
    install: [
      ['schtasks', '/Create', '/TN', TASK, '/XML', file, '/F'],
      ['schtasks', '/Run', '/TN', TASK],
    ],
    remove: [
      ['schtasks', '/End', '/TN', TASK],
      ['schtasks', '/Delete', '/TN', TASK, '/F'],
    ],
    isActive: ['powershell', '-NoProfile', '-Command', IS_RUNNING],
    note: 'It starts when you log on.',
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
  <Triggers>
    <LogonTrigger><UserId>${xmlText(user)}</UserId></LogonTrigger>
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
    <RestartOnFailure><Interval>PT1M</Interval><Count>10</Count></RestartOnFailure>
  </Settings>
  <Actions Context="Author">
    <Exec><Command>conhost.exe</Command><Arguments>${xmlText(line)}</Arguments></Exec>
  </Actions>
</Task>
`;
}

/** For text content in XML. */
const xmlText = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** Windows file names cannot contain quotation marks. */
const commandWord = (word: string) => (/[\s&()^]/.test(word) ? `"${word}"` : word);

import { win32 } from 'node:path';
import { type Program, type Service, xmlText } from './manager.ts';

const NAME = 'Switchyard';

interface TaskPlaces {
  /** With its domain, as in `DESKTOP\\ann`. */
  readonly user: string;
  /** Where the task's XML file is kept. */
  readonly dataDirectory: string;
}

/** A scheduled task of Windows that starts when its user logs on; a real service would need a separate program. */
export function scheduledTask(program: Program, { user, dataDirectory }: TaskPlaces): Service {
  const file = win32.join(dataDirectory, 'service.xml');
  const end = ['schtasks', '/End', '/TN', NAME] as const;
  return {
    file,
    text: taskXml(program, user),
    // schtasks reads no other encoding reliably.
    encoding: 'utf16le',
    reachable: null,
    // A task that already runs is not started again.
    replaces: [end],
    install: [
      ['schtasks', '/Create', '/TN', NAME, '/XML', file, '/F'],
      ['schtasks', '/Run', '/TN', NAME],
    ],
    remove: [end, ['schtasks', '/Delete', '/TN', NAME, '/F']],
    forget: [],
    isActive: [
      'powershell',
      '-NoProfile',
      '-Command',
      `if ((Get-ScheduledTask -TaskName ${NAME}).State -ne 'Running') { exit 1 }`,
    ],
    notes: ['It starts when you log on.'],
    log: win32.join(dataDirectory, 'logs'),
  };
}

/** A task has no environment, so the data directory is set by cmd.exe; conhost's `--headless` hides its console. */
export function taskXml({ command, dataDirectory }: Program, user: string): string {
  const program = command.map(quoted).join(' ');
  const line =
    dataDirectory === null
      ? `--headless ${program}`
      : `--headless cmd.exe /s /c "set "SWITCHYARD_DATA_DIR=${dataDirectory.replaceAll('%', '%%')}"&& ${program}"`;
  return `<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>Switchyard, an LLM gateway</Description>
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
const quoted = (word: string) => (/[\s&()^]/.test(word) ? `"${word}"` : word);

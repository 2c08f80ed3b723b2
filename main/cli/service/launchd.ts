import { join } from 'node:path';
import { type Program, type Service, xmlText } from './manager.ts';

const LABEL = 'switchyard';

interface LaunchdUser {
  readonly home: string;
  readonly uid: number;
  /** In the data directory that the service uses. */
  readonly logDirectory: string;
}

export function launchdService(program: Program, user: LaunchdUser): Service {
  const file = join(user.home, 'Library/LaunchAgents', `${LABEL}.plist`);
  const domain = `gui/${user.uid}`;
  const bootOut = ['launchctl', 'bootout', `${domain}/${LABEL}`] as const;
  return {
    file,
    text: launchdPlist(program),
    encoding: 'utf8',
    reachable: null,
    // launchd refuses a second service of the same name.
    replaces: [bootOut],
    install: [
      ['launchctl', 'enable', `${domain}/${LABEL}`],
      ['launchctl', 'bootstrap', domain, file],
    ],
    remove: [bootOut],
    forget: [],
    isActive: ['launchctl', 'print', `${domain}/${LABEL}`],
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
    <key>SWITCHYARD_DATA_DIR</key>
    <string>${xmlText(dataDirectory)}</string>
  </dict>
`;
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${LABEL}</string>
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

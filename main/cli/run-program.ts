import { spawn } from 'node:child_process';

export type CommandLine = readonly [string, ...string[]];

/** Null if the program succeeded; otherwise what it says. */
export function run([command, ...args]: CommandLine, shell = false): Promise<string | null> {
  const line = [command, ...args].join(' ');
  return new Promise((settle) => {
    const child = spawn(command, args, {
      shell,
      stdio: ['ignore', 'pipe', 'pipe'],
      windowsHide: true,
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.on('error', ({ message }) => settle(`"${line}" cannot be run: ${message}`));
    child.on('close', (code) =>
      settle(code === 0 ? null : `"${line}" failed (${code ?? 'killed'}): ${output.trim()}`),
    );
  });
}

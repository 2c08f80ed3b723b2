import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { onTestFinished } from 'vitest';
import {
  createStartTool,
  type StartTool,
  type ToolEnd,
} from '../../main/agent/telemetry/tool-process.ts';
import { temporaryDirectory } from './gateway.ts';
import { createLooks } from './looks.ts';

/** One start of a stub. */
interface StubRun {
  readonly command: string;
  readonly args: readonly string[];
  /** Resolves with the first output, after its parent has read it. */
  readonly printed: Promise<string>;
  readonly ended: Promise<ToolEnd>;
}

/** Stub tools on a search path that has nothing else; each is a real process. */
export type StubTools = ReturnType<typeof stubTools>;

/** Installs shell scripts as tools. */
export function stubTools(scripts: Readonly<Record<string, string>>) {
  const directory = temporaryDirectory();
  const runs: StubRun[] = [];
  const { look, until } = createLooks();
  const { NODE_COMPILE_CACHE } = process.env;
  const env = { PATH: directory, NODE_COMPILE_CACHE };
  const start = createStartTool({ env, platform: process.platform });
  const install = (name: string, script: string) => {
    writeFileSync(join(directory, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(directory, name), 0o755);
  };
  for (const [name, script] of Object.entries(scripts)) install(name, script);
  const startHelper: StartTool = (file, args, onData) => {
    const helper = start(process.execPath, [file, ...args], onData);
    onTestFinished(() => helper.kill());
    return helper;
  };
  const startTool: StartTool = (command, args, onData) => {
    const { promise: printed, resolve: print } = Promise.withResolvers<string>();
    // Fixed places are looked into as well; what a developer's machine has there must not count.
    const found = isAbsolute(command) ? join(directory, 'nowhere') : command;
    const tool = start(found, args, (chunk) => {
      onData(chunk);
      print(chunk.toString());
    });
    onTestFinished(() => tool.kill());
    runs.push({ command, args, printed, ended: tool.ended });
    look();
    return tool;
  };
  return {
    runs,
    /** Puts another script in a tool's place. */
    install,
    /** Runs a file of ours with nothing but the stubs on its search path. */
    startHelper,
    /** The n-th start, from 1, once it came. */
    run: (n: number) => until(() => runs[n - 1]),
    startTool,
  };
}

/** A script that prints a text and then does something else. */
export function prints(text: string, then = 'exit 0'): string {
  return `/bin/cat <<'END_OF_TEXT'\n${text.trimEnd()}\nEND_OF_TEXT\n${then}`;
}

/** Some of nvidia-smi's fields of a card, by its names for them. */
export type SmiCard = Readonly<Record<string, string | number>>;

/** Values of test/agent/fixtures/nvidia-consumer.csv; the identifier is ours. */
export const IDLE_CARD: SmiCard = {
  uuid: 'GPU-00000000-0000-0000-0000-000000000001',
  'pci.bus_id': '00000000:01:00.0',
  name: 'NVIDIA GeForce RTX 4080 SUPER',
  'memory.total': 16376,
  'memory.used': 596,
  'memory.free': 15348,
  'utilization.gpu': 0,
  'utilization.memory': 23,
  'temperature.gpu': 43,
};

/** An nvidia-smi that answers any query of these cards; a field that they lack is not available. */
export function smi(...cards: readonly SmiCard[]): string {
  const fields = cards.map((card, index) =>
    Object.entries({ index, ...card })
      .map(([name, value]) => `${index}:${name}) printf '%s' '${value}';;`)
      .join('\n'),
  );
  return `for arg in "$@"; do case "$arg" in --query-gpu=*) query=\${arg#--query-gpu=};; esac; done
IFS=,
for card in ${cards.map((_card, index) => `'${index}'`).join(' ')}; do
  comma=
  for field in $query; do
    printf '%s' "$comma"
    case "$card:$field" in
${fields.join('\n')}
*) printf '[N/A]';;
    esac
    comma=', '
  done
  echo
done`;
}

/** A script that does nothing for ever; the sleep is its child. */
export const HANGS = '/bin/sleep 1000\nexit 0';

/** Writes a tree of files, as the kernel has them, and gives its root. */
export function fileTree(files: Readonly<Record<string, string>>): string {
  const root = temporaryDirectory();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), `${text}\n`);
  }
  return root;
}

/** Whether a process runs; one that ended and that nobody has asked after does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  if (process.platform !== 'linux') return true;
  const path = `/proc/${pid}/stat`;
  return existsSync(path) && !/\) [ZX] /.test(readFileSync(path, 'utf8'));
}

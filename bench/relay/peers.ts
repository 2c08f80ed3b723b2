import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Children } from '../kit/children.ts';
import { freePort, untilListening, type Program } from '../kit/programs.ts';

/** Another program that is compared, or why it is not. */
type Peer = Program | string;

/** Starts a program in front of the upstream, with a configuration in `directory`. */
async function startConfigured(
  children: Children,
  directory: string,
  program: 'nginx' | 'haproxy',
  configurationOf: (port: number) => string,
): Promise<Peer> {
  if (spawnSync(program, ['-v']).status !== 0) return 'not installed';
  const port = await freePort();
  mkdirSync(directory, { recursive: true });
  const file = join(directory, `${program}.conf`);
  writeFileSync(file, configurationOf(port));
  const options =
    program === 'nginx' ? ['-p', directory, '-e', 'stderr', '-c', file] : ['-db', '-f', file];
  const child = children.start('target', [program, ...options]);
  await untilListening(port);
  return { port, child, probePort: null };
}

export const startNginx = (children: Children, directory: string, upstreamPort: number) =>
  startConfigured(children, directory, 'nginx', (port) =>
    nginxConfiguration(directory, port, upstreamPort),
  );

export const startHaproxy = (children: Children, directory: string, upstreamPort: number) =>
  startConfigured(children, directory, 'haproxy', (port) =>
    haproxyConfiguration(port, upstreamPort),
  );

/** One worker, unbuffered, kept connections; without a master, so that one process is all of it. */
function nginxConfiguration(directory: string, port: number, upstreamPort: number): string {
  const temps = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `
daemon off; master_process off; pid ${directory}/pid; error_log stderr warn;
events { worker_connections 4096; }
http {
  access_log off; keepalive_requests 1000000000;
  ${temps.map((name) => `${name}_temp_path ${directory}/${name};`).join('\n  ')}
  upstream fake {
    server 127.0.0.1:${upstreamPort};
    keepalive 512; keepalive_requests 1000000000;
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://fake; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_buffering off; proxy_request_buffering off;
    }
  }
}
`;
}

/** One thread, kept connections, each piece passed on at once. */
const haproxyConfiguration = (port: number, upstreamPort: number) => `
global
  nbthread 1
  maxconn 4096
defaults
  mode http
  timeout connect 5s
  timeout client 5m
  timeout server 5m
  option http-no-delay
  http-reuse always
frontend bench
  bind 127.0.0.1:${port}
  default_backend fake
backend fake
  server fake 127.0.0.1:${upstreamPort} pool-max-conn 512
`;

/** Newer releases of @hono/node-server break Portkey's streams. */
const PORTKEY = {
  private: true,
  dependencies: { '@portkey-ai/gateway': '1.15.2' },
  overrides: { '@hono/node-server': '1.13.5' },
};
const PORTKEY_FOLDER = join(import.meta.dirname, '../../.cache/bench/portkey');
const PORTKEY_PROGRAM = join(
  PORTKEY_FOLDER,
  'node_modules/@portkey-ai/gateway/build/start-server.js',
);
const INSTALL_MS = 120_000;

/** Starts Portkey in front of the upstream; `mayInstall`: fetches it from npm where it is not there yet. */
export async function startPortkey(
  children: Children,
  upstreamPort: number,
  mayInstall: boolean,
): Promise<Peer> {
  if (!mayInstall) return '`-- --peers` installs and measures it';
  const problem = installPortkey();
  if (problem !== null) return problem;
  const port = await freePort();
  const command = [process.execPath, PORTKEY_PROGRAM, '--headless', `--port=${port}`];
  const child = children.start('target', command);
  // Nobody reads its words, and a full pipe would stop it.
  child.process.stdout?.resume();
  child.process.stderr?.resume();
  await untilListening(port);
  const headers = {
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': `http://127.0.0.1:${upstreamPort}/v1`,
  };
  return { port, child, probePort: null, headers };
}

/** Puts Portkey into a folder of its own; gives what went wrong. */
function installPortkey(): string | null {
  const manifest = join(PORTKEY_FOLDER, 'package.json');
  const wanted = JSON.stringify(PORTKEY);
  const isThere = existsSync(PORTKEY_PROGRAM) && readFileSync(manifest, 'utf8') === wanted;
  if (isThere) return null;
  mkdirSync(PORTKEY_FOLDER, { recursive: true });
  writeFileSync(manifest, wanted);
  const { status } = spawnSync(
    'npm',
    ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'],
    { cwd: PORTKEY_FOLDER, timeout: INSTALL_MS, stdio: ['ignore', 'ignore', 'inherit'] },
  );
  return status === 0 && existsSync(PORTKEY_PROGRAM) ? null : 'npm could not install it';
}

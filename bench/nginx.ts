import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Child, Children } from './children.ts';
import { freePort, untilListening } from './ports.ts';

/** Whether there is an nginx to measure against. */
export function hasNginx(): boolean {
  return spawnSync('nginx', ['-v']).status === 0;
}

/** Starts nginx in front of the upstream; its files go to `directory`. */
export async function startNginx(
  children: Children,
  directory: string,
  upstreamPort: number,
): Promise<{ readonly port: number; readonly child: Child }> {
  const port = await freePort();
  mkdirSync(directory, { recursive: true });
  const file = join(directory, 'nginx.conf');
  writeFileSync(file, configuration(directory, port, upstreamPort));
  const child = children.start('target', ['nginx', '-p', directory, '-e', 'stderr', '-c', file]);
  await untilListening(port);
  return { port, child };
}

/** One worker, unbuffered, kept connections; without a master, so that one process is all of it. */
function configuration(directory: string, port: number, upstreamPort: number): string {
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

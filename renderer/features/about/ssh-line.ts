import { t } from '../../text/t.ts';

/** How another computer reaches a gateway that listens on loopback: the command, and the address to open then. */
export function sshLine(
  page: string,
  baseUrl: string,
): { readonly line: string; readonly url: string } {
  const port = new URL(baseUrl).port || new URL(page).port || '80';
  const { hostname } = new URL(page);
  const isLoopback = /^(localhost|127\.|\[::1\])/.test(hostname);
  const host = `${t.about.ssh.user}@${isLoopback ? t.about.ssh.machine : hostname}`;
  return { line: `ssh -N -L ${port}:127.0.0.1:${port} ${host}`, url: `http://localhost:${port}/` };
}

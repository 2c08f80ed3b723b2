import { spawn } from 'node:child_process';
import type { Clock } from '../../platform/clock.ts';
import { messageOf } from '../../platform/errors.ts';

interface ServiceNotifierDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  readonly clock: Clock;
  readonly send: (state: string) => void;
}

/**
 * Tells systemd the state of the service (sd_notify(3)); does nothing if systemd did not start this process. Notifies
 * the watchdog twice per timeout while the event loop runs, as
 * sd_watchdog_enabled(3) advises.
 */
export function createNotifier({ env, pid, clock, send }: ServiceNotifierDeps) {
  if (!env['NOTIFY_SOCKET']) return { ready() {}, stopping() {} };
  const everyMs = watchdogMs(env, pid) / 2;
  const keepAlive = () => {
    send('WATCHDOG=1');
    clock.after(everyMs, keepAlive);
  };
  return {
    ready() {
      send('READY=1');
      if (everyMs > 0) clock.after(everyMs, keepAlive);
    },
    stopping: () => send('STOPPING=1'),
  };
}

/** 0 without a watchdog, or with one for another process. */
function watchdogMs(env: ServiceNotifierDeps['env'], pid: number): number {
  const owner = env['WATCHDOG_PID'];
  if (owner !== undefined && owner !== String(pid)) return 0;
  const microseconds = Number(env['WATCHDOG_USEC']);
  return Number.isFinite(microseconds) ? microseconds / 1000 : 0;
}

/** Uses systemd's own tool, because Node has no Unix domain datagram sockets. */
export function notifySystemd(env: NodeJS.ProcessEnv, onError: (why: string) => void) {
  return (state: string) => {
    const { NOTIFY_SOCKET, PATH } = env;
    try {
      spawn('systemd-notify', [state], { env: { NOTIFY_SOCKET, PATH }, stdio: 'ignore' })
        .on('error', (error) => onError(error.message))
        .on('exit', (code) => {
          if (code !== 0) onError(`systemd-notify ended with ${code ?? 'a signal'}`);
        });
    } catch (error) {
      // Node throws what it does not expect, such as ENOMEM.
      onError(messageOf(error));
    }
  };
}

import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { AgentPort, AgentServer } from './server.ts';

/** Linux may briefly use one of the default ports for an outgoing connection. */
const RETRY_MS = 5000;

interface PortRetry {
  /** Logs the ports that could not be bound, and retries them until all are bound or `stop` is called. */
  watch(ports: readonly AgentPort[]): void;
  stop(): void;
}

export function createPortRetry(
  server: Pick<AgentServer, 'retry'>,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  /** Called when another port was bound. */
  onBound: (ports: readonly AgentPort[]) => void,
): PortRetry {
  let cancel = () => {};
  let stopped = false;

  function retryLater(failed: number): void {
    cancel();
    if (!stopped && failed > 0) cancel = clock.after(RETRY_MS, () => void retry(failed));
  }

  async function retry(before: number): Promise<void> {
    const ports = await server.retry();
    const failed = failedOf(ports).length;
    if (failed < before) {
      log('info', 'agent_port_bound', { waiting: failed });
      onBound(ports);
    }
    retryLater(failed);
  }

  return {
    watch(ports) {
      const failed = failedOf(ports);
      for (const { port, message } of failed) log('warn', 'agent_port', { port, why: message });
      retryLater(failed.length);
    },
    stop() {
      stopped = true;
      cancel();
    },
  };
}

function failedOf(ports: readonly AgentPort[]) {
  return ports.filter((port) => port.kind === 'failed');
}

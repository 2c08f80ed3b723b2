import { get } from 'node:http';
import type { UpstreamId } from '../../shared/ids.ts';
import type { StatusReport } from '#shared/status.ts';
import type { TestGateway } from './gateway.ts';

/** What the status report says of one upstream: failures and successes counted so far. */
export async function counted(
  gateway: TestGateway,
  id: UpstreamId,
): Promise<{ readonly fails: number; readonly successes: number }> {
  const response = await fetch(`${gateway.url}/api/v1/status`);
  const circuit = ((await response.json()) as StatusReport).circuits[id];
  if (circuit === undefined) throw new Error(`no circuit of ${id}`);
  const { fails, successes } = circuit;
  return { fails, successes };
}

/** The circuit of an upstream or a machine as it is now. */
export const circuitOf = ({ host }: TestGateway, id: string) => host.snapshot().status.circuits[id];

/**
 * Resolves when the gateway has read what was on its sockets before the call: its event loop takes
 * a request in and brings an answer out, several turns each.
 */
export async function turns(gateway: Pick<TestGateway, 'url'>, times = 2): Promise<void> {
  for (let turn = 0; turn < times; turn += 1) await asked(`${gateway.url}/healthz`);
}

/** On connections that stay open, and by Node's own client: its `fetch` takes four times as long. */
const asked = (url: string) =>
  new Promise((resolve, reject) => {
    get(url, (res) => res.resume().on('end', resolve)).on('error', reject);
  });

/** Requests in progress over all upstreams. */
export function inFlight(gateway: TestGateway): number {
  return Object.values(gateway.host.snapshot().inFlight).reduce((sum, count) => sum + count, 0);
}

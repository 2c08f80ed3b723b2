import { createRounds } from '../../platform/async.ts';
import { listOf, memberOf, parseJson, textOf } from '../../platform/json.ts';
import { runFirst, type ToolEdges } from './tool-process.ts';

export interface Tailnet {
  readonly hostname: string;
  readonly ip: string;
}

const COMMANDS = ['tailscale', '/Applications/Tailscale.app/Contents/MacOS/Tailscale'];
const INTERVAL_MS = 60_000;

export function createTailnetWatch(edges: ToolEdges) {
  let tailnet: Tailnet | null = null;
  const rounds = createRounds(async (signal) => {
    const asked = await runFirst(COMMANDS, ['status', '--json', '--peers=false'], edges, signal);
    if (!signal.aborted) tailnet = asked.kind === 'output' ? parseTailscale(asked.text) : null;
    return INTERVAL_MS;
  }, edges);
  return {
    ...rounds,
    /** Null if there is none or it is switched off. */
    read: () => tailnet,
  };
}

/** Reads `tailscale status --json`; null unless it is running, because it lists addresses even while stopped. */
export function parseTailscale(text: string): Tailnet | null {
  const status = parseJson(text);
  const isUp =
    memberOf(status, 'BackendState') === 'Running' && memberOf(status, 'Self', 'Online') === true;
  const hostname = textOf(memberOf(status, 'Self', 'DNSName'))?.replace(/\.$/, '') ?? '';
  const addresses = listOf(memberOf(status, 'Self', 'TailscaleIPs')).map((each) => textOf(each));
  const ip = addresses.find((each) => each?.includes('.')) ?? addresses[0] ?? null;
  return isUp && hostname !== '' && ip !== null ? { hostname, ip } : null;
}

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Host } from '../../main/app/app.ts';
import type { Log } from '../../main/platform/log.ts';
import { openDatabase } from '../../main/app/database.ts';
import { readControlToken } from '../../main/platform/secrets.ts';
import { chance } from '../support/chance.ts';
import { createManualClock } from '../support/clock.ts';
import { startHost } from '../support/host.ts';
import { call } from './caller.ts';
import { SPELL_REQUESTS } from './faults.ts';
import { type End, judge } from './judge.ts';
import { requestOf } from './requests.ts';
import { startUpstreams, UPSTREAMS } from './upstreams.ts';

type Settings = Readonly<Record<string, string>>;

const of = (setting: string, local: string, a: string, b: string): Settings => ({
  [`LOCAL_${setting}`]: local,
  [`HOSTED_A_${setting}`]: a,
  [`HOSTED_B_${setting}`]: b,
});

/** In time of the manual clock. An answer pauses for less, and some first words come after the hedge delay. */
const COMMON: Settings = {
  ...of('TIMEOUT_MS', '2500', '2500', '2500'),
  IDLE_TIMEOUT_MS: '1000',
  TTFT_THRESHOLD_MS: '200',
  TTFT_SLOW_THRESHOLD: '1000000',
};
const CONTINUED = 'continue_final_message';
const CHAT_ONLY = { ...of('PROTOCOLS', 'chat', 'chat', 'chat'), FAIL_THRESHOLD: '1000000' };

/** Gateways that differ in how they hedge, continue broken answers, and speak. */
const GATEWAYS: readonly Settings[] = [
  { ...CHAT_ONLY, ...of('PREFILL', CONTINUED, CONTINUED, 'none'), HEDGE: 'off' },
  { ...CHAT_ONLY, ...of('PREFILL', 'auto', 'none', 'auto'), HEDGE: 'all' },
  {
    ...of('PROTOCOLS', 'native', 'auto', 'chat'),
    ...of('PREFILL', 'none', 'last-message', 'last-message'),
    COOLDOWN_MS: '2000',
  },
];

const CALLERS = 40;
/** A few hops over loopback take fewer turns of the event loop than this much time of the manual clock. */
const STEP_MS = 10;
const LOOKS = 3000;

/** Plays requests 0 to `count` of a seed against gateways whose upstreams are well only for a while. */
export async function playChaos(seed: number, count: number) {
  const clock = createManualClock();
  // Time passes only while this process works: nobody is late because the machine is busy.
  const timer = setInterval(() => clock.advance(STEP_MS), 1);
  const found: string[] = [];
  const log: Log = (level, event, fields) => {
    if (level === 'error') found.push(`${event} ${JSON.stringify(fields)}`);
  };
  const directory = mkdtempSync(join(tmpdir(), 'inglenook-chaos-'));
  const upstreams = await startUpstreams(clock, GATEWAYS.length);
  const edges = { clock, log, random: chance(seed), openDatabase };
  const [local = '', a = '', b = ''] = upstreams.urls;
  const urls = { LOCAL_ENGINE_URL: local, HOSTED_A_BASE_URL: a, HOSTED_B_BASE_URL: b };
  const started = GATEWAYS.map(async (settings) => {
    const data = mkdtempSync(join(directory, 'x'));
    const host = await startHost({ ...COMMON, ...urls, ...settings }, data, edges);
    return { ...host, token: readControlToken(data) };
  });
  const hosts = await Promise.all(started);
  const counts: Partial<Record<End, number>> = {};

  async function play(n: number): Promise<void> {
    const request = requestOf({ seed, n }, GATEWAYS.length);
    // Upstreams that are left alone for minutes are asked again in their next spell.
    if (n % SPELL_REQUESTS === 0)
      await Promise.all(hosts.flatMap((host) => UPSTREAMS.map((id) => resetCircuit(host, id))));
    const received = await call(hosts[request.gateway]?.url ?? '', request, clock);
    const calls = upstreams.callsOf(n);
    const { end, findings } = judge(request, received, calls);
    counts[end] = (counts[end] ?? 0) + 1;
    if (findings.length === 0) return;
    const asked = calls.map(({ call: { upstream }, script }) => `${upstream}: ${script.name}`);
    const got = { ...received, body: received.body.toString() };
    const story = { n, end, findings, asked, request, got };
    found.push(JSON.stringify(story).slice(0, 5000));
  }

  const numbers = Array.from({ length: count }, (_, n) => n).values();
  const caller = async () => {
    for (const n of numbers) await play(n);
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  const left = () => [upstreams.open(), ...hosts.flatMap(({ host }) => leftIn(host))];
  for (let look = 0; look < LOOKS && left().some((number) => number > 0); look += 1)
    await new Promise((resolve) => setTimeout(resolve, 10));
  if (left().some((number) => number > 0)) found.push(`left at the end: ${left().join(', ')}`);
  await Promise.all(hosts.map(({ host }) => host.stop(0)));
  clearInterval(timer);
  await upstreams.close();
  rmSync(directory, { recursive: true, force: true });
  return { counts, found };
}

async function resetCircuit(
  { url, token }: { readonly url: string; readonly token: string | null },
  id: string,
): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  const { ok } = await fetch(`${url}/api/v1/circuits/${id}/reset`, { method: 'POST', headers });
  if (!ok) throw new Error(`the circuit of ${id} was not reset`);
}

/** Calls, rows and admitted requests that a gateway has not ended. */
function leftIn(host: Host): readonly number[] {
  const { inFlight, requests, status } = host.snapshot();
  const running = requests.filter(({ state }) => state === 'running').length;
  return [...Object.values(inFlight), running, status.admission.running];
}

import type { UpstreamId } from '#shared/ids.ts';
import type { StatusReport } from '#shared/status.ts';
import { expect } from 'vitest';
import type { Clock } from '../../main/platform/clock.ts';
import type { Log } from '../../main/platform/log.ts';
import { createManualClock, type ManualClock } from './clock.ts';
import { chat, HELLO, startChat, type Pending } from './client.ts';
import { startControlled, type Controlled } from './control.ts';
import type { TestGateway } from './gateway.ts';
import { turns } from './report.ts';
import { machineAt, startTier, type Machine, type Tier } from './tier.ts';
import { hang, startUpstream, type Script, type Upstream, type UpstreamCall } from './upstream.ts';
import { at } from './words.ts';

/** Without content for so long a call is slow, unless a test sets another line. */
export const LINE_MS = 5000;

export const STREAM = { ...HELLO, stream: true };
export const PLAIN = { ...HELLO, stream: false };

type Place = 'local' | 'a' | 'b' | 'c' | 'ondemand';
const HOSTED: readonly string[] = ['a', 'b', 'c'];

/** A gateway before upstreams that do what their scripts say; `a`, `b` and `c` are the hosted ones. */
export async function startBefore<Name extends Place>(
  scripts: Scripts<Name>,
  settings: Readonly<Record<string, string>> = {},
  ...edges: [clock?: Clock, log?: Log]
): Promise<
  Readonly<Record<Name, Upstream>> & { readonly gateway: Controlled; readonly url: string }
> {
  const up = await startUpstreams(scripts);
  const urls = Object.entries<Upstream>(up).map(([name, { url }]) => [
    HOSTED.includes(name) ? `hosted_${name}` : name,
    url,
  ]);
  const places = at(Object.fromEntries(urls) as Partial<Record<UpstreamId, string>>);
  const gateway = await startControlled({ ...places, ...settings }, ...edges);
  return { gateway, url: gateway.url, ...up };
}

/** The same, and time stands still. */
export async function startStill<Name extends Place>(
  scripts: Scripts<Name>,
  settings?: Readonly<Record<string, string>>,
) {
  const clock = createManualClock();
  return { clock, ...(await startBefore(scripts, settings, clock)) };
}

/** A gateway before a single upstream, at a place that a test has in a variable, and time that stands still. */
export async function startOnly(
  place: UpstreamId,
  playing: Playing,
  settings: Readonly<Record<string, string>> = {},
) {
  const clock = createManualClock();
  const only = await startPlaying(playing);
  const gateway = await startControlled({ ...at({ [place]: only.url }), ...settings }, clock);
  return { clock, only, gateway, url: gateway.url };
}

/** One script for all calls, or several for the first calls in turn; `get` answers what the gateway asks by itself. */
type Playing =
  | Script
  | readonly Script[]
  | { readonly script?: Script | readonly Script[]; readonly get: Upstream['answerGet'] };
type Scripts<Name extends string> = Readonly<Record<Name, Playing>>;

async function startUpstreams<Name extends string>(scripts: Scripts<Name>) {
  const up = {} as Record<Name, Upstream>;
  for (const name of Object.keys(scripts) as Name[]) up[name] = await startPlaying(scripts[name]);
  return up;
}

async function startPlaying(playing: Playing): Promise<Upstream> {
  if (!('get' in playing)) return startUpstream(...[playing].flat());
  const { script = hang, get } = playing;
  return Object.assign(await startUpstream(...[script].flat()), { answerGet: get });
}

function urlsOf(up: Readonly<Record<string, Upstream>>): Partial<Record<UpstreamId, string>> {
  return Object.fromEntries(Object.entries(up).map(([id, { url }]) => [id, url]));
}

/** Machines of the owner's own, by names that a test gives them, and paid upstreams behind them. */
interface TierScene<Own extends string, Id extends UpstreamId> extends Tier {
  readonly own: Readonly<Record<Own, Machine>>;
  readonly up: Readonly<Record<Id, Upstream>>;
}

/** Starts one; the machines are asked in this order while nothing tells them apart. */
export async function startTierScene<Own extends string, Id extends UpstreamId = never>(
  machines: Scripts<Own>,
  paid: Scripts<Id> = {} as Scripts<Id>,
  settings: Readonly<Record<string, string>> = {},
): Promise<TierScene<Own, Id>> {
  const started = await startUpstreams(machines);
  const own = {} as Record<Own, Machine>;
  for (const name of Object.keys(machines) as Own[]) own[name] = machineAt(started[name]);
  const up = await startUpstreams(paid);
  const tier = await startTier(Object.values<Machine>(own), { ...at(urlsOf(up)), ...settings });
  return { ...tier, own, up };
}

type Stage = Pick<TestGateway, 'url'> & { readonly clock: ManualClock };
type Calls = Pick<Upstream, 'call' | 'calls'>;

/** Sends a request, a stream unless a test wants another, and waits until `first` is called for it. */
export async function ask(
  { url }: Stage,
  first: Calls,
  body: unknown = STREAM,
  headers: Record<string, string> = {},
): Promise<{ readonly pending: Pending; readonly call: UpstreamCall }> {
  const n = first.calls.length + 1;
  const pending = startChat(url, body, headers);
  return { pending, call: await first.call(n) };
}

/** As `ask`; the first call is silent until the line, and `second` is called beside it. */
export async function askHedged(stage: Stage, first: Calls, second: Calls, body: unknown = STREAM) {
  const n = second.calls.length + 1;
  const { pending, call: slow } = await askSlow(stage, first, body);
  return { pending, slow, hedge: await second.call(n) };
}

/** As `ask`; the first call is silent until the line. */
export async function askSlow(stage: Stage, first: Calls, body: unknown = STREAM) {
  const asked = await ask(stage, first, body);
  stage.clock.advance(LINE_MS);
  return asked;
}

/** Moves time on, and lets come about what is due then. */
export async function pass(stage: Stage, ms: number): Promise<void> {
  stage.clock.advance(ms);
  await turns(stage);
}

/** So many requests that ask nobody, which count in the hedge budget all the same. */
export async function askNobody({ url }: Pick<TestGateway, 'url'>, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) await chat(url, HELLO, { 'x-gateway-force-zero': '1' });
}

/** The attempts of the newest request: who was asked, why, and why it did not give the answer. */
export function attemptsOf({ host }: TestGateway): (readonly [string, string, string | null])[] {
  const [row] = host.snapshot().requests;
  return (row?.attempts ?? []).map(
    ({ upstream, provider, cause, reason }) => [provider ?? upstream, cause, reason] as const,
  );
}

export async function circuitsOf(stage: Pick<Tier, 'status'>): Promise<StatusReport['circuits']> {
  return (await stage.status()).circuits;
}

/** How many calls each upstream has had. */
export function callsOf(upstreams: Readonly<Record<string, Pick<Upstream, 'calls'>>>) {
  return Object.fromEntries(Object.entries(upstreams).map(([id, { calls }]) => [id, calls.length]));
}

/** Nobody is occupied any more, and no request runs. */
export async function expectAtRest(gateway: TestGateway): Promise<void> {
  await turns(gateway);
  const { inFlight, requests } = gateway.host.snapshot();
  expect(Object.values(inFlight)).toEqual([0, 0, 0, 0, 0]);
  expect(requests.map(({ state }) => state)).not.toContain('running');
}

import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { RequestRow } from '#shared/live.ts';
import { HELLO, startChat, type Answer, type Pending } from './client.ts';
import { createManualClock, type ManualClock } from './clock.ts';
import type { TestGateway } from './gateway.ts';
import { inFlight, turns } from './report.ts';
import type { History } from './survival-parts.ts';
import { playing, type Play, type Said } from './survival-player.ts';
import { startTier, storedMachine } from './tier.ts';
import { startUpstream, type Upstream } from './upstream.ts';
import { at } from './words.ts';

/** What a history came to. */
export interface Survived {
  /** Null for a caller that left. */
  readonly answer: Answer | null;
  readonly said: readonly Said[];
  readonly row: RequestRow;
  /** What remains of the request a while after its end. */
  readonly left: { readonly calls: number; readonly inFlight: number; readonly timers: number };
}

/** Nothing takes longer than a few of these. */
const STEP_MS = 1000;
const LIMIT_MS = String(3 * STEP_MS);

/** The upstreams by their ids, and a second machine for histories in which `local` is a pool. */
export type Cast = Readonly<Record<UpstreamId | 'machine', Upstream>>;

/** Starts them once for all histories. */
export async function startCast(): Promise<Cast> {
  const started = [...UPSTREAM_IDS, 'machine'].map(async (id) => [id, await startUpstream()]);
  return Object.fromEntries(await Promise.all(started)) as Cast;
}

/** Plays one in a gateway of its own; the upstreams are used again. */
export async function live(history: History, cast: Cast): Promise<Survived> {
  const clock = createManualClock();
  const play: Play = { said: [], busy: 0 };
  const upstreams = Object.values(cast);
  for (const upstream of upstreams) upstream.calls.length = 0;
  for (const id of UPSTREAM_IDS) cast[id].script = playing(id, history.actors[id], play);
  const pool = poolOf(history, cast);
  for (const { id, upstream, actor } of pool) upstream.script = playing(id, actor, play);
  const gateway = await startTier(pool, settingsOf(history, cast), clock);
  await turns(gateway);
  const timersBefore = clock.pending();
  const { stream, deterministic } = history;
  const temperature = deterministic ? 0 : 1;
  const pending = startChat(gateway.url, { ...HELLO, model: 'same', stream, temperature });
  const answer = await answerTo(pending, history, () => passTime(gateway, clock, play));
  while (inFlight(gateway) > 0) await passTime(gateway, clock, play);
  // What an upstream never ends is closed soon after, and the state is written down.
  for (let step = 0; step < 2; step += 1) await passTime(gateway, clock, play);
  const calls = upstreams.flatMap((upstream) => upstream.calls);
  const row = gateway.host.snapshot().requests[0];
  if (row === undefined) throw new Error('no row of the request');
  const left = {
    calls: calls.filter(({ res, socket }) => !res.writableFinished && !socket.destroyed).length,
    inFlight: inFlight(gateway),
    timers: Math.max(0, clock.pending() - timersBefore),
  };
  return { answer, said: play.said, row, left };
}

async function answerTo(
  pending: Pending,
  { leaves }: History,
  passing: () => Promise<void>,
): Promise<Answer | null> {
  const { answer, firstBytes } = pending;
  const wait = { isOver: false };
  const waited = leaves === 'never' ? answer : Promise.race([firstBytes, answer]);
  const end = waited.finally(() => (wait.isOver = true));
  while (!wait.isOver) await passing();
  await end;
  if (leaves === 'never') return answer;
  pending.leave();
  return null;
}

/** Once all that was sent has come, and nobody has more to send, a while passes. */
async function passTime(gateway: TestGateway, clock: ManualClock, play: Play): Promise<void> {
  await turns(gateway);
  if (play.busy > 0) return;
  await turns(gateway);
  if (play.busy === 0) clock.advance(STEP_MS);
}

/** The machines that are `local`; none where it is a fixed engine. */
function poolOf({ actors, machine }: History, cast: Cast) {
  if (machine === null) return [];
  const record = { current_model: 'same', models: ['same'] };
  const played = [
    { upstream: cast.local, actor: actors.local },
    { upstream: cast.machine, actor: machine },
  ];
  return played.map(({ upstream, actor }, index) => {
    const id = `prv_${String(index).padStart(32, '0')}`;
    return { id, upstream, actor, stored: storedMachine(id, upstream.url, { record }) };
  });
}

function settingsOf({ actors, machine, hedge, resume }: History, cast: Cast) {
  const urls = Object.fromEntries(
    UPSTREAM_IDS.filter((id) => id !== 'local' || machine === null).map((id) => [id, cast[id].url]),
  );
  const each = UPSTREAM_IDS.flatMap((id) => [
    [`${id.toUpperCase()}_TIMEOUT_MS`, LIMIT_MS],
    [`${id.toUpperCase()}_PREFILL`, actors[id].prefill],
    ...(id === 'local' ? [] : [[`${id.toUpperCase()}_MODEL`, actors[id].model]]),
  ]);
  return {
    ...at(urls),
    ...(Object.fromEntries(each) as Record<string, string>),
    IDLE_TIMEOUT_MS: LIMIT_MS,
    ONDEMAND_WARMUP: 'false',
    HEDGE: hedge,
    HEDGE_MS: String(STEP_MS),
    HEDGE_BUDGET: '100',
    RESUME: resume,
  };
}

import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { isAdmitted, type Verdict } from '#shared/condition.ts';
import type { UpstreamId } from '#shared/ids.ts';
import { chat } from '../support/client.ts';
import { readFeed } from '../support/feed.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { postJson } from '../support/http.ts';
import { turns } from '../support/report.ts';
import { controlOf } from '../support/control.ts';
import { startMachine, startTier } from '../support/tier.ts';
import { answers, error, type Script, startUpstream, type Upstream } from '../support/upstream.ts';
import { at } from '../support/words.ts';
import { createManualClock, type ManualClock } from '../support/clock.ts';

/** A clock that stands still except for the pauses before a call, which pass by themselves. */
interface HastyClock extends ManualClock {
  /** The tick by which the last call to be sent must have content. */
  deadline(): number;
}

function createHastyClock(): HastyClock {
  const clock = createManualClock();
  let deadline = 0;
  return {
    ...clock,
    deadline: () => deadline,
    after(ms, fn) {
      const cancel = clock.after(ms, fn);
      // The name of the callback tells who waits: `sleep` for a pause, an attempt for its deadline.
      if (fn.name === 'wake') queueMicrotask(() => clock.advance(ms));
      if (fn.name === '#onTime') deadline = clock.ticks() + ms;
      return cancel;
    },
  };
}

/*
 * What the window claims, held against what the next request does, over random histories of requests, checks, tests and
 * faults. A claim is about what has been seen, so before the last request every upstream is put back to how it was when
 * it was last asked.
 */

type Mood = 'well' | 'dead' | '500' | '401' | '402' | '429' | 'busy';

const SCRIPTS: Readonly<Record<Mood, Script>> = {
  well: answers('hi'),
  dead: ({ socket }) => void socket.destroy(),
  '500': error(500, 'broken'),
  '401': error(401, 'wrong key'),
  '402': error(402, 'out of credits'),
  '429': error(429, 'slow down', null, { 'retry-after': '30' }),
  busy: error(503, 'server busy, please try again'),
};

/** What passes by itself, by what the upstream says. */
const PASSES_AFTER_MS: Readonly<Partial<Record<Mood, number>>> = { '429': 30_000, busy: 2000 };

/** An upstream, or a machine of Local. */
class Spot {
  readonly id: UpstreamId;
  readonly server: Upstream;
  readonly #clock: HastyClock;
  /** Null: no request, test or check has reached it. */
  #seen: {
    readonly mood: Mood;
    readonly at: number;
    readonly lasting: Mood;
    readonly byLook: boolean;
  } | null = null;
  mood: Mood = 'well';
  /** How often anything but a completion was asked for. */
  looks = 0;

  constructor(id: UpstreamId, server: Upstream, clock: HastyClock) {
    this.id = id;
    this.server = server;
    this.#clock = clock;
    server.script = (call) => {
      this.#see(this.mood, false);
      return SCRIPTS[this.mood](call);
    };
    server.answerGet = ({ res }) => {
      this.looks += 1;
      if (this.mood === 'dead') {
        this.#see('dead', true);
        res.socket?.destroy();
        return;
      }
      // An engine's own routes need no key.
      const isRefused = this.mood === '401' && this.id !== 'local';
      // They tell that it answers and takes the key, and nothing of its completions.
      const { mood = 'dead', byLook = true } = this.#seen ?? {};
      if (isRefused) this.#see('401', true);
      else if (mood === 'dead' || (mood === '401' && byLook)) this.#see('well', true);
      res.writeHead(isRefused ? 401 : 200, { 'content-type': 'application/json' });
      res.end('{"data":[{"id":"m"}],"status":"ok"}');
    };
  }

  /** How it was last seen, as far as it has not passed by itself since. */
  seen(): Mood | null {
    if (this.#seen === null) return null;
    const { mood, at: seenAt, lasting } = this.#seen;
    const passesAfterMs = this.#passesAfterMs(mood);
    const isOver = passesAfterMs !== undefined && this.#clock.ticks() - seenAt >= passesAfterMs;
    return isOver ? lasting : mood;
  }

  forget(): void {
    this.#seen = null;
  }

  /** Only of Local's engine the gateway knows that busy is not broken. */
  #passesAfterMs(mood: Mood): number | undefined {
    return mood === 'busy' && this.id !== 'local' ? undefined : PASSES_AFTER_MS[mood];
  }

  #see(mood: Mood, byLook: boolean): void {
    // What passes by itself says nothing of what was wrong before.
    const before = this.#seen?.lasting ?? 'well';
    const lasting = this.#passesAfterMs(mood) === undefined ? mood : before;
    this.#seen = { mood, at: this.#clock.ticks(), lasting, byLook };
  }
}

interface World {
  readonly gateway: TestGateway;
  readonly clock: HastyClock;
  readonly spots: readonly Spot[];
}

const SETTINGS = { HEDGE: 'off', RESUME: 'off', RETRY_AFTER_MAX_MS: '1' };

/** Starts a gateway before the same servers, which have forgotten what was. */
type StartWorld = () => Promise<World>;

/** Local as one engine, with hosted upstreams behind it. */
async function fixedWorld(): Promise<StartWorld> {
  const ids = ['local', 'hosted_a', 'hosted_b'] as const;
  const servers = await Promise.all(ids.map(async (id) => ({ id, server: await startUpstream() })));
  const addresses = Object.fromEntries(servers.map(({ id, server }) => [id, server.url]));
  return async () => {
    const clock = createHastyClock();
    const spots = servers.map(({ id, server }) => new Spot(id, server, clock));
    const gateway = await startGateway({ ...SETTINGS, ...at(addresses) }, clock);
    return { gateway, clock, spots };
  };
}

/** Local as two verified machines, with one hosted upstream behind them. */
async function pooledWorld(): Promise<StartWorld> {
  const machines = [await startMachine(answers('hi')), await startMachine(answers('hi'))];
  const hosted = await startUpstream();
  return async () => {
    const clock = createHastyClock();
    const spots = [
      ...machines.map((machine) => new Spot('local', machine, clock)),
      new Spot('hosted_a', hosted, clock),
    ];
    const settings = { ...SETTINGS, ...at({ hosted_a: hosted.url }) };
    const gateway = await startTier(machines, settings, clock);
    return { gateway, clock, spots };
  };
}

type Event =
  | { readonly kind: 'mood'; readonly spot: number; readonly mood: Mood }
  | { readonly kind: 'request' }
  | { readonly kind: 'pass'; readonly ms: number }
  | { readonly kind: 'test' | 'reset' | 'save'; readonly spot: number };

const spotIndex = fc.nat(2);
const event: fc.Arbitrary<Event> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('mood' as const),
      spot: spotIndex,
      mood: fc.constantFrom<Mood>('well', 'well', 'dead', '500', '401', '402', '429', 'busy'),
    }),
  },
  { weight: 6, arbitrary: fc.constant({ kind: 'request' as const }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('pass' as const),
      ms: fc.constantFrom(500, 3000, 16_000, 31_000, 61_000, 610_000),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('test' as const, 'reset' as const, 'save' as const),
      spot: spotIndex,
    }),
  },
);

async function play(happened: Event, world: World): Promise<void> {
  const { gateway, clock, spots } = world;
  if (happened.kind === 'request') {
    await chat(gateway.url);
  } else if (happened.kind === 'pass') {
    // In steps, so that checks are answered before their time is out.
    for (let left = happened.ms; left > 0; left -= STEP_MS) {
      clock.advance(Math.min(left, STEP_MS));
      await turns(gateway);
    }
  } else {
    const spot = spots[happened.spot];
    if (spot === undefined) return;
    // Local is asked with the caller's own key: a refusal of it is the answer, and says nothing of Local.
    const isOwnKey =
      spot.id === 'local' &&
      happened.kind === 'mood' &&
      (happened.mood === '401' || happened.mood === '402');
    if (happened.kind === 'mood') spot.mood = isOwnKey ? '500' : happened.mood;
    else await order(happened.kind, spot, world);
  }
  await settled(world);
  clock.advance(1);
}

/** Shorter than a check may take. */
const STEP_MS = 3000;

/** What the owner does about an upstream. */
async function order(kind: 'test' | 'reset' | 'save', { id }: Spot, world: World): Promise<void> {
  const { control, patch } = controlOf(world.gateway);
  const { sightings, judgement } = world.gateway.host.snapshot();
  const isOut = sightings[id].kind === 'failed' || judgement.conditions[id].kind === 'skipped';
  if (kind === 'test')
    await postJson(`${world.gateway.url}/api/v1/upstreams/${id}/test`, {}, control);
  else {
    // After a repair, earlier failures may no longer matter.
    const [one, ...others] = world.spots.filter((spot) => spot.id === id);
    if (isOut && others.length === 0) one?.forget();
    if (kind === 'save') await patch({ [id]: { timeoutMs: 29_000 } });
    else await postJson(`${world.gateway.url}/api/v1/circuits/${id}/reset`, {}, control);
  }
}

/** Lets checks that are under way end, and the reading of an engine's models, which is several requests. */
async function settled({ gateway, spots }: World): Promise<void> {
  const looks = () => spots.reduce((sum, spot) => sum + spot.looks, 0);
  for (let before = -1; before !== looks();) {
    before = looks();
    await turns(gateway, 6);
  }
}

/** Asks once more, with every upstream as it was last seen: what was claimed, and what came of it, where they differ. */
async function contradictions({ gateway, spots }: World): Promise<readonly string[]> {
  const { verdict, conditions } = gateway.host.snapshot().judgement;
  for (const spot of spots) spot.mood = spot.seen() ?? 'well';
  const before = spots.map(({ server }) => server.calls.length);
  const { status, upstream } = await chat(gateway.url);
  const isCalled = ({ server }: Spot, index: number) => server.calls.length > (before[index] ?? 0);
  const called = new Set(spots.filter(isCalled).map(({ id }) => id));
  const came = `${status} from ${upstream}, after calls to ${[...called].join(', ') || 'nobody'}`;
  // Those before the one that answers were called exactly if their stations said so.
  const ids = [...new Set(spots.map(({ id }) => id))];
  const end = status === 200 ? ids.findIndex((id) => id === upstream) : 0;
  const stations = ids
    .slice(0, Math.max(0, end))
    .filter((id) => called.has(id) !== isAdmitted(conditions[id]))
    .map((id) => `${id} is ${conditions[id].kind}: ${came}`);
  const isTrue = isBorneOut(verdict, { isAnswered: status === 200, upstream, called });
  return isTrue ? stations : [`${JSON.stringify(verdict)}: ${came}`, ...stations];
}

interface Outcome {
  readonly isAnswered: boolean;
  readonly upstream: string;
  readonly called: ReadonlySet<UpstreamId>;
}

function isBorneOut(verdict: Verdict, { isAnswered, upstream, called }: Outcome): boolean {
  switch (verdict.kind) {
    case 'serving':
      return isAnswered && upstream === verdict.by;
    case 'untested':
      return called.has(verdict.by);
    case 'stuck':
      return (
        !isAnswered && (verdict.tries === null ? called.size === 0 : called.has(verdict.tries))
      );
    default:
      return false;
  }
}

/** An engine is back after a long time, and its models are read before its next health check is due. */
const BACK: Event[] = [
  { kind: 'mood', spot: 0, mood: 'dead' },
  { kind: 'pass', ms: 610_000 },
  { kind: 'pass', ms: 610_000 },
  { kind: 'mood', spot: 0, mood: 'well' },
  { kind: 'pass', ms: 3000 },
];

test.each([
  ['one engine', fixedWorld],
  ['two machines', pooledWorld],
])(
  'the judgement of each upstream is what the next request meets, with %s',
  async (_of, prepare) => {
    expect.hasAssertions();
    const start = await prepare();
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 14 }), async (history) => {
        const world = await start();
        const reader = await readFeed(world.gateway.url);
        try {
          await settled(world);
          for (const each of history) await play(each, world);
          expect(await contradictions(world)).toEqual([]);
        } finally {
          reader.leave();
          const stopped = world.gateway.host.stop(0);
          world.clock.advance(1000);
          await stopped;
        }
      }),
      { numRuns: 10, endOnFailure: false, examples: [[BACK]] },
    );
  },
);

import * as fc from 'fast-check';
import { HOSTED_IDS, UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import { expect, test } from 'vitest';
import { createModel } from './routing-model.ts';
import { BEHAVIOURS, type Action, type Ask, type Behaviour } from './routing-table.ts';
import { createSocketWorld } from './routing-sockets.ts';
import { createMemoryWorld, standingOf, type World } from './routing-worlds.ts';

const id = fc.constantFrom<UpstreamId[]>(...UPSTREAM_IDS);
/** Failures are what circuits are about; few answers, so that requests get far. */
const behaviour = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom<Behaviour[]>('503', '500', 'refused') },
  { weight: 2, arbitrary: fc.constantFrom<Behaviour[]>('ok', 'slow', 'cut') },
  { weight: 4, arbitrary: fc.constantFrom<Behaviour[]>(...BEHAVIOURS) },
);
const ask: fc.Arbitrary<Ask> = fc.record({
  kind: fc.constant('ask'),
  meets: fc.record({
    local: behaviour,
    hosted_a: behaviour,
    hosted_b: behaviour,
    hosted_c: behaviour,
    ondemand: behaviour,
  }),
  again: behaviour,
  model: fc.constantFrom('m1', 'm2'),
  stream: fc.boolean(),
  zero: fc.nat(9).map((n) => n === 0),
});
const limits = fc.record({
  failThreshold: fc.integer({ min: 1, max: 4 }),
  cooldownMs: fc.constantFrom(5000, 60_000, 400_000),
  ttftSlowThreshold: fc.integer({ min: 1, max: 3 }),
});
/** To the edge of every deadline there is, and anywhere else. */
const ms = fc.oneof(
  fc.constantFrom(
    1,
    700,
    1300,
    2000,
    14_999,
    15_000,
    31_000,
    59_999,
    60_000,
    120_000,
    600_000,
    3_600_000,
  ),
  fc.nat(130_000),
);
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 12, arbitrary: ask },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('pass'), ms }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reset'), id }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('rekey'),
      id: fc.constantFrom('hosted_a', 'hosted_b', 'hosted_c', 'ondemand'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('limits'), limits }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('force_zero'), on: fc.boolean() }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('prefer'),
      id: fc.option(fc.constantFrom(...HOSTED_IDS), { freq: 3 }),
    }),
  },
);
const configured = fc
  .subarray([...UPSTREAM_IDS], { minLength: 1 })
  .map((ids): ReadonlySet<UpstreamId> => new Set(ids));
const history = (maxLength: number) => fc.array(action, { minLength: 1, maxLength, size: 'max' });

/** Plays a history in a world and in the model, and compares all that can be seen after each step. */
async function compare(world: World, ids: ReadonlySet<UpstreamId>, actions: readonly Action[]) {
  const model = createModel(ids);
  const start = world.ticks();
  for (const each of actions) {
    const expected = model.act(each);
    expect(await world.act(each)).toEqual(expected);
    const report = await world.status();
    expect(world.ticks() - start).toBe(model.now());
    expect(report.stats).toMatchObject(model.totals());
    for (const known of ids) {
      expect({ [known]: standingOf(report, known) }).toEqual({ [known]: model.standing(known) });
    }
  }
}

test('calls, reason, status, circuits and exclusions are those of the model, whatever happens', async () => {
  const property = fc.asyncProperty(configured, history(30), async (ids, actions) => {
    await compare(createMemoryWorld(ids), ids, actions);
  });
  await expect(fc.assert(property, { numRuns: 200 })).resolves.toBeUndefined();
  // Two hundred gateways: on a busy machine that takes its time.
}, 300_000);

test('an answer that comes when the wait for local has used up the time is a timeout', async () => {
  const ok = {
    local: 'ok',
    hosted_a: 'ok',
    hosted_b: 'ok',
    hosted_c: 'ok',
    ondemand: 'ok',
  } as const;
  const zero = {
    kind: 'ask',
    meets: ok,
    again: 'ok',
    model: 'm1',
    stream: false,
    zero: true,
  } as const;
  const local = new Set(['local'] as const);
  const played: readonly Action[] = [
    { ...zero, meets: { ...ok, local: '429' } },
    { kind: 'pass', ms: 13_001 },
    { ...zero, meets: { ...ok, local: 'slow' } },
    zero,
  ];
  await expect(compare(createMemoryWorld(local), local, played)).resolves.toBeUndefined();
});

function withoutRefusedRetry(each: Action): Action {
  return each.kind === 'ask' && each.again === 'refused' ? { ...each, again: '503' } : each;
}

test('calls, reason, status, circuits and exclusions are those of the model over sockets and the settings route', async () => {
  const everybody = new Set(UPSTREAM_IDS);
  // A port cannot be closed between two tries of one request.
  const playable = history(20).map((actions) => actions.map(withoutRefusedRetry));
  const property = fc.asyncProperty(playable, async (actions) => {
    await compare(await createSocketWorld(), everybody, actions);
  });
  await expect(fc.assert(property, { numRuns: 10 })).resolves.toBeUndefined();
  // Ten gateways with five upstreams each: on a busy machine that takes its time.
}, 300_000);

import { expect, test } from 'vitest';
import { NO_USAGE } from '../../main/gateway/usage/queries.ts';
import { recordOf } from '../registry/world.ts';
import { attempt, request } from '../renderer/builders.ts';
import { gpuDevice } from '../support/agent-record.ts';
import { axeViolations } from '../support/browser.ts';
import { directoryWith } from '../support/data-directory.ts';
import { layoutFaults } from './layout.ts';
import { turnTo } from '../support/page.ts';
import { showAt } from '../support/sights.ts';
import { enrolled, shownMachine } from '../support/tier.ts';
import { lists, startUpstream } from '../support/upstream.ts';
import { openWindowHost } from '../support/window-host.ts';

/** Ids as OpenRouter, Together and vLLM have them, and one without a place to break. */
const MODEL = `organization/a-very-long-model-name-2026-11-instruct-fp8-awq-${'q'.repeat(68)}`;
const UNBROKEN = 'm'.repeat(128);
const LABEL = 'The second account of the research group at that provider';
const HOST = 'a-machine-whose-name-somebody-made-of-every-fact-about-it-in-rack-17';

/** Colours move nothing: each page is seen in the dark on the narrowest, and in the light on all others. */
const SIGHTS = [
  { width: 320, height: 640, colorScheme: 'dark' },
  { width: 390, height: 844, colorScheme: 'light' },
  { width: 768, height: 900 },
  { width: 1024, height: 800 },
  // What a window of 1280 × 800 has at a zoom of 200 %.
  { width: 640, height: 400 },
] as const;

interface View {
  readonly hash: string;
  /** What is there once all that the page reads is. */
  readonly shown: string;
  /** What axe sees in the dark, where it has seen the rest on the page before. */
  readonly part?: string;
  /** Whether axe sees it in the light, too; the others it sees so in other tests. */
  readonly isSeenInLight?: true;
}

const VIEWS: readonly View[] = [
  { hash: '#/', shown: '.upstream-card' },
  { hash: '#/providers', shown: '.provider' },
  { hash: `#/providers/prv_${'7'.padStart(32, '0')}`, shown: 'h2', isSeenInLight: true },
  { hash: '#/requests', shown: '.request >> nth=5', isSeenInLight: true },
  { hash: '#/requests/req_7', shown: 'dialog .attempts' },
  { hash: '#/models', shown: 'h1' },
  { hash: '#/history', shown: '.usage-history .charts', isSeenInLight: true },
  { hash: '#/settings/hosted_a', shown: 'fieldset input:visible' },
  { hash: '#/settings/keys', shown: 'fieldset summary:visible', part: '#section-local' },
  { hash: '#/settings/routing', shown: 'fieldset input:visible', part: '#section-routing' },
];

test('each page fits each size with the longest names: every control can be pressed, no texts collide, and axe finds nothing wrong', async () => {
  const { page } = await openFullGateway();
  await page.locator('.upstream-card').first().waitFor();
  const faults: Record<string, unknown> = {};
  for (const { hash, shown, part = ':root', isSeenInLight } of VIEWS) {
    await turnTo(page, hash);
    await page.locator(shown).first().waitFor();
    for (const sight of SIGHTS) {
      await showAt(page, sight);
      const { width, height } = sight;
      const found = await layoutFaults(page);
      const isSeen = width === 320 || (width === 1024 && isSeenInLight === true);
      const violations = isSeen ? await axeViolations(page, page.locator(part)) : [];
      if (found.over > 0 || [...found.covered, ...found.collided, ...violations].length > 0)
        faults[`${hash} at ${width} × ${height}`] = { ...found, violations };
    }
  }
  expect(faults).toEqual({});
});

/** So little that its amounts are the longest. */
const spentBy = (upstreams: readonly string[], now: number) =>
  upstreams.map((upstream) => ({
    place: { at: now - (now % 60_000), upstream, provider: '', model: '', key: '' },
    figures: { ...NO_USAGE, calls: 3, outputTokens: 9, spentNano: 40_000 },
  }));

/** A gateway that knows 30 machines, an upstream of 500 models and the requests of all of them. */
async function openFullGateway() {
  const service = await startUpstream(({ res }) => void res.end());
  service.answerGet = lists(...Array.from({ length: 500 }, (_, index) => `${index}-${MODEL}`));
  const now = Date.now();
  const gpu = { ...recordOf().gpu, count: 2, devices: [gpuDevice(), gpuDevice({ index: 1 })] };
  const idOf = (index: number) => `prv_${String(index).padStart(32, '0')}`;
  const machines = Array.from({ length: 30 }, (_, index) => {
    const host = { hostname: index < 2 ? 'vm' : `${HOST}-${index}` };
    const models = [MODEL, UNBROKEN];
    return shownMachine(idOf(index), { current_model: MODEL, models, host, gpu });
  });
  const kept = Array.from({ length: 12 }, (_, index) => {
    const isHosted = index % 3 === 0;
    const upstream = isHosted ? 'hosted_a' : 'local';
    const its = isHosted ? {} : { machine: HOST, provider: idOf(7) };
    const took = { firstContentMs: 300, endMs: 900, model: MODEL };
    return request(`req_${index}`, {
      startedAt: now - 60_000 * index,
      model: index % 2 === 0 ? MODEL : UNBROKEN,
      upstream,
      key: LABEL,
      tokens: { input: 123_456, output: 98_765, cached: 0, estimated: false },
      fallbackReason: isHosted ? 'local=unreachable,hosted_b=http_503' : 'none',
      attempts: [attempt({ upstream, ...its, ...took })],
    });
  });
  return openWindowHost(
    {
      INGLENOOK_HOSTED_A_BASE_URL: `${service.url}/v1`,
      INGLENOOK_HOSTED_A_API_KEY: 'k'.repeat(200),
      INGLENOOK_HOSTED_A_MODEL: MODEL,
      INGLENOOK_HOSTED_A_LABEL: LABEL,
      INGLENOOK_HOSTED_B_BASE_URL: `${service.url}/v2`,
      INGLENOOK_HOSTED_B_API_KEY: 'key',
      INGLENOOK_HOSTED_B_MODEL: UNBROKEN,
      INGLENOOK_HOSTED_C_BASE_URL: `${service.url}/v3`,
      INGLENOOK_HOSTED_C_API_KEY: 'key',
      INGLENOOK_HOSTED_C_LABEL: 'L'.repeat(64),
      INGLENOOK_ONDEMAND_BASE_URL: `${service.url}/v4`,
      INGLENOOK_ONDEMAND_API_KEY: 'key',
      INGLENOOK_ONDEMAND_MODEL: MODEL,
    },
    directoryWith({
      providers: enrolled(machines),
      rows: kept,
      increments: spentBy(['', 'hosted_a'], now),
    }),
  );
}

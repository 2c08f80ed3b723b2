import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { attempt, NOW, request } from '../renderer/builders.ts';
import { listed, startEngine } from '../agent/fake-engine.ts';
import { axeViolations } from '../support/browser.ts';
import { directoryWith } from '../support/data-directory.ts';
import { openPage, turnTo } from '../support/page.ts';
import { layoutFaults } from './layout.ts';
import { showAt } from '../support/sights.ts';
import { shownMachine } from '../support/tier.ts';
import { lists, startUpstream } from '../support/upstream.ts';
import { startWindowHost } from '../support/window-host.ts';

const SIGHTS = [
  [320, 'dark'],
  [390, 'light'],
  [1280, 'light'],
] as const;

/* Names as people give them: long, and some of one word. */
const MACHINE = 'workstation-under-the-desk-in-the-attic.example.internal';
const MODEL = 'hf.co/unsloth/Qwen3-235B-A22B-Instruct-2507-GGUF:UD-Q4_K_XL';
const KEY = 'laptop-of-the-person-who-maintains-the-build-server-in-the-attic';
const ID = 'prv_aaaa1111bbbb2222';

const ASKED = request('req_1', {
  startedAt: NOW,
  model: MODEL,
  key: KEY,
  caller: { key: 'sw-…f00d', address: '100.64.12.34', userAgent: `app/1 (${MODEL})` },
  fallbackReason: `local/${ID}=timeout; hosted_a=http_503`,
  upstream: 'hosted_b',
  attempts: [
    attempt({ provider: ID, machine: MACHINE, endMs: 9_000, reason: 'timeout', model: MODEL }),
    attempt({ upstream: 'hosted_a', startMs: 9_000, endMs: 9_100, reason: 'http_503', error: MODEL }),
    attempt({ upstream: 'hosted_b', startMs: 9_100, firstContentMs: 9_600, endMs: 19_600 }),
  ],
}); // prettier-ignore

async function start(): Promise<string> {
  const engine = await startEngine({ '/v1/models': listed('library', 'qwen3:8b') });
  const service = await startUpstream();
  service.answerGet = lists(MODEL);
  const machine = shownMachine(ID, { host: { hostname: MACHINE } }, 'failed');
  const host = await startWindowHost(
    { INGLENOOK_ENGINE_URL: engine.url, INGLENOOK_HOSTED_A_BASE_URL: service.url },
    directoryWith({ providers: [machine], rows: [ASKED] }),
  );
  return host.controlLink();
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

interface View {
  readonly name: string;
  /** Left out for a dialog. */
  readonly part?: string;
  readonly open: (page: Page) => Promise<void>;
}

/** Those that follow another one may use what that has made. */
const VIEWS: readonly View[] = [
  { name: 'a fallback added', open: (page) => button(page, '+ Add a fallback').click() },
  {
    name: 'a machine added',
    async open(page) {
      await turnTo(page, '#/providers');
      await button(page, 'Add a machine').click();
      await page.getByText(/^inglenook join/).waitFor();
    },
  },
  {
    name: 'another gateway joined',
    async open(page) {
      await turnTo(page, '#/join');
      await page
        .getByRole('dialog')
        .getByRole('textbox')
        .fill(`inglenook join http://${MACHINE}:47900 ${'0f'.repeat(32)}`);
      await page.getByText(/over plain HTTP/).waitFor();
    },
  },
  {
    name: 'a machine removed',
    async open(page) {
      await turnTo(page, `#/providers/${ID}`);
      await button(page, 'Remove…').click();
    },
  },
  { name: 'a request', open: (page) => turnTo(page, '#/requests/req_1') },
  {
    name: 'a key created',
    part: '.keys',
    async open(page) {
      await turnTo(page, '#/settings');
      await page.getByRole('heading', { name: 'Keys for apps' }).click();
      await page.getByLabel('Name of the app').fill(KEY);
      await button(page, 'Create key').click();
      await page.getByText(/^sy-[0-9a-f]{64}$/).waitFor();
    },
  },
  {
    name: 'a key limited',
    open: (page) => page.getByRole('button', { name: `Limits for ${KEY}` }).click(),
  },
  {
    name: 'a key revoked',
    open: (page) => page.getByRole('button', { name: `Revoke ${KEY}` }).click(),
  },
  {
    name: 'the filters of requests',
    part: '.narrowing',
    async open(page) {
      await turnTo(page, `#/requests?model=${MODEL}&machine=${ID}&key=${KEY}`);
      await page.locator('.request-why', { hasText: 'Your GPUs · ' }).waitFor();
    },
  },
];

const FITS = { over: 0, beyond: 0, covered: [], collided: [], violations: [] };

/** Colours move nothing: axe sees every other one in the dark. */
async function lookAt(page: Page, { name, part = 'dialog[open]' }: View, index: number) {
  const found = [];
  const shown = page.locator(part);
  for (const [width, colorScheme] of SIGHTS) {
    await showAt(page, { width, height: 720, colorScheme });
    const isScanned = width === (index % 2 === 0 ? 320 : 1280);
    const violations = isScanned ? await axeViolations(page, shown) : [];
    const beyond = await shown.evaluate((it) => it.scrollWidth - it.clientWidth);
    found.push({ name, width, beyond, ...(await layoutFaults(page)), violations });
  }
  return found;
}

test('each dialog fits phones and a desktop with the longest names and all its controls in reach', async () => {
  const page = await openPage(await start());
  // Gone, not only closed: a request's address goes with it.
  const dialog = page.locator('dialog');
  for (const [index, view] of VIEWS.entries()) {
    await view.open(page);
    const isDialog = view.part === undefined;
    if (isDialog) await dialog.waitFor();
    const { name } = view;
    const fitting = SIGHTS.map(([width]) => ({ name, width, ...FITS }));
    expect.soft(await lookAt(page, view, index)).toEqual(fitting);
    if (!isDialog) continue;
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  }
});

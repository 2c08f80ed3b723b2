// `npm run screenshots`: the pictures in README.md and docs/, taken of the demo and of a home with two machines.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Locator, Page } from 'playwright-core';
import { closeBrowser, openPage } from '../test/support/browser.ts';
import { IDLE_CARD, smi, type SmiCard } from '../test/support/stub-tool.ts';

const ROOT = join(import.meta.dirname, '..');
const IMAGES = join(ROOT, 'docs/images');

/** A program of this repository that has printed where it is. */
interface Program {
  /** The window's address with a one-time code. */
  readonly link: string;
  readonly baseUrl: string;
  stop(): Promise<void>;
}

/** Starts one on a free port; it prints its two addresses in either order. */
async function startProgram(
  entry: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<Program> {
  const child = spawn(process.execPath, [join(ROOT, entry)], {
    env: { ...process.env, INGLENOOK_PORT: '0', ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let link = '';
  let baseUrl = '';
  for await (const line of createInterface({ input: child.stdout })) {
    const [address = ''] = /http:\S+/.exec(line) ?? [];
    if (address.includes('#')) link = address;
    else if (address.endsWith('/v1')) baseUrl = address;
    if (link !== '' && baseUrl !== '') break;
  }
  if (link === '' || baseUrl === '') throw new Error(`${entry} ended before it said where it is`);
  child.stdout.resume();
  return {
    link,
    baseUrl,
    async stop() {
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

/** One streamed chat completion, read to its end. */
async function ask({ baseUrl }: Program): Promise<void> {
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'any',
      stream: true,
      messages: [{ role: 'user', content: 'Hello' }],
    }),
  });
  await response.text();
}

/** The upper `height` pixels of what the page shows at `hash`, light and dark. */
async function photograph(
  page: Page,
  { name, hash, height }: { readonly name: string; readonly hash: string; readonly height: number },
): Promise<void> {
  await page.evaluate((to) => void (location.hash = to), hash);
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await take(page, `${name}-${colorScheme}`, height);
  }
}

/** The upper `height` pixels of the page as it is. */
async function take(page: Page, name: string, height: number): Promise<void> {
  await page.evaluate(() => document.fonts.ready.then(() => undefined));
  await showDefaultPort(page);
  const { width = 0 } = page.viewportSize() ?? {};
  const clip = { x: 0, y: 0, width, height };
  await page.screenshot({ path: join(IMAGES, `${name}.png`), clip });
  console.log(`docs/images/${name}.png`);
}

async function takeOf(part: Locator, name: string): Promise<void> {
  await part.screenshot({ path: join(IMAGES, `${name}.png`) });
  console.log(`docs/images/${name}.png`);
}

/** The port is any free one; the pictures show the default. */
async function showDefaultPort(page: Page): Promise<void> {
  await page.evaluate(() => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
      node.nodeValue = (node.nodeValue ?? '').replaceAll(`:${location.port}`, ':47900');
    }
  });
}

/** Breaks the upstream at a place of the track, or heals it, and waits until the gateway says so. */
async function fault(page: Page, place: number, name: string): Promise<void> {
  const answered = page.waitForResponse((response) => response.url().includes('/demo/faults/'));
  await page.locator('.fault select').nth(place).selectOption(name);
  await answered;
}

/** Starts the demo without its own traffic, whose requests would push these off the picture. */
async function withDemo(show: (demo: Program, page: Page) => Promise<void>): Promise<void> {
  const demo = await startProgram('main/demo.ts');
  try {
    const page = await openPage(demo.link);
    await page.setViewportSize({ width: 1280, height: 832 });
    await page.getByLabel('Send a request every second').click();
    await show(demo, page);
  } finally {
    await demo.stop();
  }
}

/** A resumed stream, a hedged call and a fallback, the newest request still running. */
async function photographRequests(demo: Program, page: Page): Promise<void> {
  await ask(demo);
  await fault(page, 0, 'cut');
  await ask(demo);
  await fault(page, 0, 'refuse');
  await fault(page, 1, 'slow');
  await ask(demo);
  await fault(page, 1, 'none');
  const newest = ask(demo);
  await page.locator('.request').nth(3).waitFor();
  await photograph(page, { name: 'requests', hash: '#/requests', height: 508 });
  await newest;
}

/** The GPUs have failed until they are skipped, and a hosted API answers. */
async function photographFallback(demo: Program, page: Page): Promise<void> {
  for (let request = 0; request < 12; request += 1) await ask(demo);
  await fault(page, 0, 'refuse');
  for (let request = 0; request < 5; request += 1) await ask(demo);
  await page
    .getByText(/^paused after/)
    .first()
    .waitFor();
  await page.getByText('1 running').waitFor({ state: 'hidden' });
  await photograph(page, { name: 'overview', hash: '#/', height: 832 });
}

/** An Ollama with one model in memory, which also passes for a hosted API; it answers everything with a word. */
async function startEngine(model: string): Promise<Server> {
  const pages: Readonly<Record<string, object>> = {
    '/api/version': { version: '0.30.2' },
    '/v1/models': { data: [{ id: model }] },
    '/api/tags': { models: [{ name: model, capabilities: ['completion', 'tools'] }] },
    '/api/ps': { models: [{ name: model, context_length: 32_768 }] },
  };
  const message = { role: 'assistant', content: 'Hello' };
  const usage = { prompt_tokens: 12, completion_tokens: 1 };
  const completion = { model, choices: [{ index: 0, message, finish_reason: 'stop' }], usage };
  const server = createServer((req, res) => {
    req.resume();
    if (req.url === '/') return void res.end('Ollama is running');
    res.setHeader('content-type', 'application/json');
    res.end(JSON.stringify(pages[req.url ?? ''] ?? completion));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

const urlOf = (server: Server): string =>
  `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

interface Computer {
  /** Where its agent listens: the ports of an agent are fixed, its address isn't. */
  readonly address: string;
  readonly card: SmiCard;
  readonly engine: Server;
}

/** The settings of a computer with an Ollama and one card, as nvidia-smi would report it. */
async function furnish(
  folder: string,
  { address, card, engine }: Computer,
): Promise<Record<string, string>> {
  await mkdir(folder, { mode: 0o700 });
  await writeFile(join(folder, 'nvidia-smi'), `#!/bin/sh\n${smi(card)}\n`, { mode: 0o755 });
  return {
    INGLENOOK_DATA_DIR: folder,
    INGLENOOK_ENGINE_URL: urlOf(engine),
    INGLENOOK_AGENT_HOST: address,
    PATH: `${folder}${delimiter}${process.env['PATH'] ?? ''}`,
  };
}

/** Calls a gateway's API as its owner. */
async function ownerOf({ baseUrl }: Program, dataDirectory: string) {
  const token = (await readFile(join(dataDirectory, 'control-token'), 'utf8')).trim();
  return async (method: string, path: string, json?: unknown): Promise<unknown> => {
    const response = await fetch(new URL(`/api/v1/${path}`, baseUrl), {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
    return response.json();
  };
}

/** With a model of 8 billion parameters in memory. */
const STUDYS_CARD = { ...IDLE_CARD, 'memory.used': 6212, 'memory.free': 10_164 };
const TOWERS_CARD = {
  ...IDLE_CARD,
  uuid: 'GPU-00000000-0000-0000-0000-000000000002',
  name: 'NVIDIA GeForce RTX 4090',
  'memory.total': 24_564,
  'memory.used': 6212,
  'memory.free': 18_352,
  'temperature.gpu': 39,
};

/** The first steps: a GPU serves, a fallback is added, and a second machine joins. */
async function photographHome(): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), 'inglenook-pictures-'));
  const engine = await startEngine('qwen3:8b');
  const openAi = await startEngine('gpt-4o-mini');
  const programs: Program[] = [];
  const start = async (name: string, address: string, card: SmiCard) => {
    const settings = await furnish(join(home, name), { address, card, engine });
    const program = await startProgram('main/headless.ts', settings);
    programs.push(program);
    return program;
  };
  try {
    const gateway = await start('study', '127.0.40.1', STUDYS_CARD);
    const page = await openPage(gateway.link);
    await page.setViewportSize({ width: 900, height: 900 });
    await page.getByText('Serving from your GPUs').first().waitFor();
    // In place of OpenAI, which nobody calls for a picture.
    await page.route('**/upstreams/*/models', (route) =>
      route.fulfill({ json: { models: ['gpt-4o', 'gpt-4o-mini'] } }),
    );
    await page.getByRole('button', { name: 'Add a fallback' }).click();
    await page.getByLabel('Service').selectOption('OpenAI');
    await page.getByLabel('API key').fill('sk-the-key-of-the-owner');
    await page.getByRole('combobox', { name: 'Model' }).selectOption('gpt-4o-mini');
    await takeOf(page.getByRole('dialog'), 'add-a-fallback');
    await page.getByRole('button', { name: 'Close' }).click();

    const hosted_a = { baseUrl: `${urlOf(openAi)}/v1`, model: 'gpt-4o-mini', label: 'OpenAI' };
    const owner = await ownerOf(gateway, join(home, 'study'));
    await owner('PATCH', 'settings', { hosted_a });
    await ask(gateway);
    await ask(gateway);
    await page.getByText('next in line').first().waitFor();
    await take(page, 'overview-serving', 598);

    const { join: line } = (await owner('POST', 'providers/enrollments')) as { join: string };
    const tower = await start('tower', '127.0.40.2', TOWERS_CARD);
    const other = await ownerOf(tower, join(home, 'tower'));
    await other('POST', 'agent/join', { line });
    for (const [name, computer] of [
      ['study', owner],
      ['tower', other],
    ] as const) {
      const { id } = (await computer('GET', 'agent')) as { id: string };
      await owner('PUT', `providers/${id}/note`, { name, note: '' });
    }
    await page.setViewportSize({ width: 1200, height: 900 });
    await page.evaluate(() => void (location.hash = '#/providers'));
    await page.getByText('2 machines: 2 can serve').waitFor();
    await takeOf(page.locator('.provider-list'), 'machines');
  } finally {
    await Promise.all(programs.map((program) => program.stop()));
    for (const server of [engine, openAi]) server.close().closeAllConnections();
    await rm(home, { recursive: true });
  }
}

await mkdir(IMAGES, { recursive: true });
try {
  await withDemo(photographRequests);
  await withDemo(photographFallback);
  await photographHome();
} finally {
  await closeBrowser();
}

/** How often the window is drawn while requests pass: a real gateway, a real browser, and a caller that waits for nobody. */
import { mkdirSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { Agent, request } from 'undici';
import { closeBrowser, openPage } from '../test/support/browser.ts';
import type { Children } from './kit/children.ts';
import { passingFrom, startGateway, startUpstream } from './kit/programs.ts';
import { WIRES } from './load/wires.ts';
import { bound, type Report, type Rows } from './report.ts';

const REQUESTS_PER_SECOND = 200;
const WATCHED_MS = 10_000;
/** The list fills, and the page draws it for the first time. */
const SETTLE_MS = 3000;
const PAGES = { Overview: '#/', Requests: '#/requests' } as const;
/** At 48 frames a second. */
const MOST_FRAME_MS = 20.8;

/** Runs it, one page after the other; the files go to `directory`. */
export async function frames(children: Children, directory: string): Promise<Report> {
  mkdirSync(directory, { recursive: true });
  const env = passingFrom(await startUpstream(children, 0));
  const { port } = await startGateway(children, directory, env);
  const origin = `http://127.0.0.1:${port}`;
  const caller = callAtPace(origin);
  const measured: [string, Drawn][] = [];
  try {
    for (const [name, hash] of Object.entries(PAGES)) {
      const page = await openPage(`${origin}/${hash}`);
      await page.locator('.request').first().waitFor();
      await page.waitForTimeout(SETTLE_MS);
      measured.push([name, await drawn(page, WATCHED_MS)]);
      await page.context().close();
    }
  } finally {
    caller.stop();
    await closeBrowser();
  }
  const { perSecond, failures } = caller.counted();
  if (failures > 0) throw new Error(`${failures} requests failed`);
  const rows: Rows = measured.map(([name, { mean, longest, count }]) => [
    name,
    (1000 / mean).toFixed(1),
    mean.toFixed(1),
    longest.toFixed(0),
    String(count),
  ]);
  return {
    intro: `The window while ${perSecond.toFixed(0)} requests a second are answered (${REQUESTS_PER_SECOND} offered).`,
    tables: [[['page', 'frames/s', 'mean (ms)', 'longest (ms)', 'frames'], ...rows]],
    notes: [
      'The browser draws without a GPU, on the same machine as gateway, upstream and caller.',
    ],
    bounds: measured.map(([name, { mean }]) =>
      bound(`mean time of a frame, ${name}`, ' ms', mean, MOST_FRAME_MS, 17),
    ),
  };
}

/** Milliseconds between frames. */
interface Drawn {
  readonly mean: number;
  readonly longest: number;
  readonly count: number;
}

/** What the bench uses of a page's globals, which are not those of Node. */
interface PageGlobals {
  readonly requestAnimationFrame: (draw: (now: number) => void) => void;
}

function drawn(page: Page, watchedMs: number): Promise<Drawn> {
  return page.evaluate(
    (forMs) =>
      new Promise<Drawn>((resolve) => {
        const { requestAnimationFrame: onFrame } = globalThis as unknown as PageGlobals;
        let [begun, last, longest, count] = [0, 0, 0, 0];
        const tick = (now: number) => {
          if (begun === 0) begun = now;
          else {
            count += 1;
            longest = Math.max(longest, now - last);
          }
          last = now;
          if (now - begun < forMs) onFrame(tick);
          else resolve({ mean: (now - begun) / count, longest, count });
        };
        onFrame(tick);
      }),
    watchedMs,
  );
}

/** Begins a request at its time, whether or not those before are answered. */
function callAtPace(origin: string) {
  const dispatcher = new Agent({ connections: 64 });
  const { path, plainRequest } = WIRES.chat;
  const begunAt = performance.now();
  let [begun, answered, failures] = [0, 0, 0];
  const ask = async () => {
    const headers = { 'content-type': 'application/json' };
    const call = { method: 'POST', headers, body: plainRequest, dispatcher } as const;
    try {
      const { statusCode, body } = await request(origin + path, call);
      await body.dump();
      if (statusCode === 200) answered += 1;
      else failures += 1;
    } catch {
      failures += 1;
    }
  };
  const timer = setInterval(() => {
    const due = ((performance.now() - begunAt) / 1000) * REQUESTS_PER_SECOND;
    for (; begun < due; begun += 1) void ask();
  }, 5);
  let endedAt = 0;
  return {
    stop() {
      clearInterval(timer);
      endedAt = performance.now();
    },
    counted: () => ({ perSecond: (1000 * answered) / (endedAt - begunAt), failures }),
  };
}

import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { remembering } from '../support/gateway.ts';
import { gpuDevice } from '../support/agent-record.ts';
import { openPage } from '../support/page.ts';
import { faultsOf, overflowOf, showAt } from '../support/sights.ts';
import { recordOf } from '../registry/world.ts';
import { enrolled, storedMachine } from '../support/tier.ts';
import { NO_AGENT, startWindowHost } from '../support/window-host.ts';

type Gpu = ReturnType<typeof gpuDevice>;

const H200 = { name: 'NVIDIA H200', memory_total_mb: 143_771, memory_used_mb: 140_000 };
const GPUS: Readonly<Record<string, readonly Partial<Gpu>[]>> = {
  desk: [{ util_gpu: 97 }],
  rig: [
    { util_gpu: 97, temperature_c: 83 },
    { util_gpu: 0, temperature_c: 34, memory_used_mb: 310 },
  ],
  rack: Array.from({ length: 8 }, (_, index) => ({
    ...H200,
    util_gpu: index * 14,
    temperature_c: 50 + index * 6,
  })),
};

function machineWith(hostname: string, gpus: readonly Partial<Gpu>[]) {
  const now = Date.now();
  const { gpu, host } = recordOf();
  const devices = gpus.map((each, index) => gpuDevice({ ...each, index }));
  return {
    ...storedMachine(`prv_${hostname}`, 'http://127.0.0.1:9', {
      record: { host: { ...host, hostname }, gpu: { ...gpu, count: devices.length, devices } },
      verification: { lastCheckAt: now, lastInferenceAt: now },
    }),
    lastHeartbeatAt: now,
  };
}

async function goTo(page: Page, hash: string, heading: string) {
  await page.evaluate((to) => void (location.hash = to), hash);
  await page.getByRole('heading', { level: 1, name: heading }).waitFor();
}

const WIDTHS = [1280, 768, 390];

/** The figures that reach out of their room, or break between number and unit. */
const overflowing = (page: Page, selector: string) =>
  page.locator(selector).evaluateAll((all) =>
    all.flatMap((each) => {
      const room = each.getBoundingClientRect();
      const texts = [...each.childNodes].filter(({ nodeType }) => nodeType === Node.TEXT_NODE);
      const fits = texts.every((text) => {
        const range = document.createRange();
        range.selectNode(text);
        const [line, ...more] = range.getClientRects();
        const isInside = line && line.left >= room.left - 1 && line.right <= room.right + 1;
        return more.length === 0 && isInside;
      });
      return fits ? [] : [each.textContent];
    }),
  );

test('machines of one, two and eight GPUs fit phones, tablets and desktops', async () => {
  const providers = enrolled(Object.entries(GPUS).map((each) => machineWith(...each)));
  const openStore = remembering({ providers });
  const host = await startWindowHost(NO_AGENT, { openStore });
  const page = await openPage(host.controlLink());
  await goTo(page, '#/providers', 'Machines');
  const rowOf = (name: string) =>
    page.locator('.provider', { has: page.getByRole('link', { name, exact: true }) });
  const loadOf = (name: string) => rowOf(name).locator('[data-column="load"]').innerText();
  await rowOf('rack').waitFor();
  for (const width of WIDTHS) {
    await showAt(page, { width });
    const loads = await Promise.all(['desk', 'rig', 'rack'].map(loadOf));
    expect(loads.map((load) => load.replace(/^GPU\s*/, ''))).toEqual(['97%', '97 · 0%', '0–98%']);
    expect(await overflowing(page, '.provider-figure:visible')).toEqual([]);
  }
  for (const [name, gpus] of Object.entries(GPUS)) {
    await goTo(page, `#/providers/prv_${name}`, name);
    const meters = page.locator('.meters > div');
    await expect.poll(() => meters.count()).toBe(3 * gpus.length);
    for (const width of WIDTHS) {
      await showAt(page, { width });
      expect(await overflowing(page, '.meters dd')).toEqual([]);
      expect(await overflowOf(page)).toBe(0);
    }
  }
  const hot = page.locator('.meters [data-tone="amber"] dd');
  expect(await hot.allInnerTexts()).toEqual(['86 °C', '92 °C']);
  expect(await faultsOf(page)).toEqual([]);
});

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { _electron } from 'playwright-core';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../support/gateway.ts';

const ROOT = join(import.meta.dirname, '../..');
const ELECTRON = join(ROOT, 'node_modules/electron');

type ElectronSearch =
  | { readonly kind: 'binary'; readonly path: string }
  | { readonly kind: 'none'; readonly reason: string };

function findElectron(): ElectronSearch {
  const note = join(ELECTRON, 'path.txt');
  const path = existsSync(note) ? join(ELECTRON, 'dist', readFileSync(note, 'utf8').trim()) : null;
  if (path === null || !existsSync(path))
    return { kind: 'none', reason: "Electron's binary is not installed here" };
  if (process.platform === 'linux') {
    const { env } = process;
    if (!env['DISPLAY'] && !env['WAYLAND_DISPLAY'])
      return { kind: 'none', reason: 'there is no display here (try xvfb-run)' };
    if (process.getuid?.() === 0)
      return { kind: 'none', reason: 'Electron does not run as root with its sandbox on' };
  }
  return { kind: 'binary', path };
}

test(
  'real Electron opens the gateway page with a control session and quits cleanly',
  { timeout: 120_000 },
  async (context) => {
    const found = findElectron();
    if (found.kind === 'none') {
      console.log(`SKIPPED: real-Electron smoke test: ${found.reason}`);
      context.skip(found.reason);
      return;
    }
    const vite = join(ROOT, 'node_modules/vite/bin/vite.js');
    execFileSync(process.execPath, [vite, 'build', '-c', 'main/desktop/vite.config.ts'], {
      cwd: ROOT,
    });
    const app = await _electron.launch({
      executablePath: found.path,
      args: [ROOT],
      chromiumSandbox: true,
      env: {
        ...(process.env as Record<string, string>),
        INGLENOOK_DATA_DIR: temporaryDirectory(),
        INGLENOOK_PORT: '0',
      },
    });
    try {
      const page = await app.firstWindow();
      await page.waitForLoadState('load');
      expect(new URL(page.url()).hostname).toBe('127.0.0.1');
      expect(await page.title()).toContain('Inglenook');
      const hasNode = await page.evaluate(() => 'require' in globalThis || 'process' in globalThis);
      expect(hasNode).toBe(false);
      const status = await page.evaluate(async () => (await fetch('/healthz')).status);
      expect(status).toBe(200);
    } finally {
      await app.close();
    }
  },
);

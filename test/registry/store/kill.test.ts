import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { newPath, openHere } from '../../support/store.ts';

const WRITER = join(import.meta.dirname, '../../support/store-writer.ts');
/** Lines after which it is killed: the first comes before the file is opened, the second when it is open. */
const KILLED_AFTER = [1, 2, 60, 350];

/** Runs the writer, kills it with no warning once it has printed so many lines; gives what it printed. */
function killedAfter(path: string, lines: number): Promise<string> {
  const child = spawn(process.execPath, [WRITER, path], { stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = '';
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
    if (printed.split('\n').length > lines) child.kill('SIGKILL');
  });
  return new Promise((resolve, reject) => {
    child.on('close', (_code, signal) => {
      if (signal === 'SIGKILL') resolve(printed);
      else reject(new Error(said));
    });
  });
}

test('a kill at any moment loses nothing that was acknowledged, and leaves no write half done', async () => {
  const path = newPath();
  const acknowledged = new Map<string, number>();
  for (const lines of KILLED_AFTER) {
    const printed = await killedAfter(path, lines);
    for (const [, lane = '', n] of printed.matchAll(/^kept (\d+) (\d+)\n/gm))
      acknowledged.set(lane, Number(n));
    const { db, state, warning, unreadable, writer } = openHere(path);
    expect([warning, unreadable]).toEqual([null, []]);
    for (const [lane, n] of acknowledged) {
      const id = `prv_${lane}`;
      const provider = state.providers.find((stored) => stored.id === id);
      expect(provider?.sequence, `killed after ${lines} lines`).toBeGreaterThanOrEqual(n);
      const sequence = provider?.sequence ?? 0;
      expect(provider).toMatchObject({ heartbeatCount: sequence, lastHeartbeatAt: sequence });
      expect(provider?.verification.failedRuns).toBe(sequence);
      expect(state.documents[`lane ${lane}`]).toBe(`${sequence}`);
      expect(writer.events(id, 1)).toMatchObject([{ at: sequence }]);
    }
    db.close();
  }
  expect(acknowledged.size).toBe(8);
  expect(readdirSync(dirname(path))).toEqual(['registry.db', 'registry.db.machines']);
});

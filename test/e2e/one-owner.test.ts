import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../support/gateway.ts';
import { send } from '../support/http.ts';
import { runCli, type RunningCli, startCli } from '../support/process.ts';

const WINDOW = /Dashboard: (\S+)\/#code/;

const start = (directory: string) => startCli({ PORT: '0', DATA_DIR: directory });

interface Recorded {
  readonly pid: number;
  readonly startedAt: string;
  readonly url: string | null;
}

const recorded = (directory: string) =>
  JSON.parse(readFileSync(join(directory, 'running.json'), 'utf8')) as Recorded;

test('a data directory has one owner: a second Inglenook exits and names it, and one of two that take over from a killed one runs', async () => {
  const directory = temporaryDirectory();
  const first = start(directory);
  const url = await first.printed(WINDOW);
  const owner = recorded(directory);
  expect(owner).toMatchObject({ pid: first.pid, url });
  const second = await runCli({ PORT: '0', DATA_DIR: directory });
  expect([second.code, second.stdout]).toEqual([1, '']);
  for (const part of [directory, `process ${first.pid}`, owner.startedAt, url])
    expect(second.stderr).toContain(part);
  expect(recorded(directory)).toEqual(owner);
  expect((await send(`${url}/healthz`)).status).toBe(200);
  first.kill('SIGKILL');
  await first.ended;
  expect(recorded(directory)).toEqual(owner);

  const all = [start(directory), start(directory)];
  const outcome = (cli: RunningCli) =>
    Promise.race([cli.printed(WINDOW).catch(() => 'ended'), cli.ended.then(() => 'ended')]);
  const outcomes = await Promise.all(all.map(outcome));
  expect(outcomes.filter((each) => each !== 'ended')).toHaveLength(1);
  const winner = all[outcomes.findIndex((each) => each !== 'ended')];
  expect(recorded(directory).pid).toBe(winner?.pid);
});

import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../../main/config/load.ts';
import { createLifecycle } from '../../../main/gateway/api/lifecycle.ts';
import { silentLog } from '../../../main/platform/log.ts';
import { createManualClock } from '../../support/clock.ts';
import { listening } from '../../support/listening.ts';

/** A gateway's start on a port that another server has. */
async function startOnTakenPort() {
  const other = createServer();
  const port = await listening(other);
  const loaded = loadConfig({ SWITCHYARD_PORT: String(port) }, {});
  if (loaded.kind === 'refused') throw new Error(loaded.problems.join('\n'));
  const said: string[] = [];
  const clock = createManualClock();
  const onPortTaken = (message: string) => void said.push(message);
  const lifecycle = createLifecycle(() => createServer(), { clock, log: silentLog, onPortTaken });
  onTestFinished(() => lifecycle.stop(0));
  return { other, port, said, clock, lifecycle, started: lifecycle.start(loaded.config) };
}

test('a port that is taken is waited for, which is said once, and used as soon as it is free', async () => {
  const { other, port, said, clock, lifecycle, started } = await startOnTakenPort();
  for (let tries = 0; tries < 3; tries += 1) clock.advance(await clock.timer(250, 250));
  await clock.timer(250, 250);
  other.close();
  await once(other, 'close');
  clock.advance(250);
  expect(await started).toEqual({ ok: true });
  expect(lifecycle.url()).toBe(`http://127.0.0.1:${port}`);
  expect(said).toEqual([expect.stringMatching(/^Port \d+ on .* taken .*Waiting up to 5 s for it/)]);
});

test('after 5 s the start gives up, and names the port', async () => {
  const { port, clock, started } = await startOnTakenPort();
  for (let waitedMs = 0; waitedMs < 5000; waitedMs += 250) {
    clock.advance(await clock.timer(250, 250));
  }
  expect(await started).toEqual({
    ok: false,
    isPortTaken: true,
    message: expect.stringContaining(String(port)),
  });
});

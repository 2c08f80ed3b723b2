import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { PatchResult } from '../../../main/config/live-config.ts';
import { createLifecycle } from '../../../main/gateway/api/server.ts';
import { systemClock } from '../../../main/platform/clock.ts';
import { silentLog } from '../../../main/platform/log.ts';
import { createManualClock } from '../../support/clock.ts';
import { configOf } from '../../support/config.ts';
import { listening } from '../../support/listening.ts';

/** A gateway's start on a port that another server has. */
async function startOnTakenPort() {
  const other = createServer();
  const port = await listening(other);
  const config = configOf({ INGLENOOK_PORT: String(port) });
  const said: string[] = [];
  const clock = createManualClock();
  const onPortTaken = (message: string) => void said.push(message);
  const lifecycle = createLifecycle(() => createServer(), { clock, log: silentLog, onPortTaken });
  onTestFinished(() => lifecycle.stop(0));
  return { other, port, said, clock, lifecycle, started: lifecycle.start(config) };
}

test('a start waits for a port that is taken, says so once, and uses the port as soon as it is free', async () => {
  const { other, port, said, clock, lifecycle, started } = await startOnTakenPort();
  for (let tries = 0; tries < 3; tries += 1) clock.advance(await clock.timer(250, 250));
  await clock.timer(250, 250);
  other.close();
  await once(other, 'close');
  clock.advance(250);
  expect(await started).toBeNull();
  expect(lifecycle.url()).toBe(`http://127.0.0.1:${port}`);
  expect(said).toEqual([expect.stringMatching(/^Port \d+ on .* taken .*Waiting up to 5 s for it/)]);
});

test('a start whose port stays taken gives up after 5 s and names the port', async () => {
  const { port, clock, started } = await startOnTakenPort();
  for (let waitedMs = 0; waitedMs < 5000; waitedMs += 250)
    clock.advance(await clock.timer(250, 250));
  expect(await started).toMatch(new RegExp(`^Port ${port} on .*Set it with INGLENOOK_PORT\\.$`));
});

/** A gateway on loopback, whose requests wait for the test to answer. */
async function startWaiting() {
  const running: ServerResponse[] = [];
  const makeServer = () =>
    createServer((req, res) => {
      if (req.url === '/wait') running.push(res.writeHead(200));
      else res.end('here');
      res.flushHeaders();
    });
  const edges = { clock: systemClock, log: silentLog, onPortTaken: null };
  const lifecycle = createLifecycle(makeServer, edges);
  onTestFinished(() => lifecycle.stop(0));
  expect(await lifecycle.start(configOf({ INGLENOOK_PORT: '0' }))).toBeNull();
  const { port } = new URL(lifecycle.url());
  const at = (address: string, path = '/') => fetch(`http://${address}:${port}${path}`);
  return { lifecycle, running, port, at };
}

const SAVED: PatchResult = { kind: 'patched' };
const UNSAVED: PatchResult = { kind: 'unwritten', message: 'no room' };

// 127.0.0.2 stands for an outside address: only Linux has it without being asked.
describe.runIf(process.platform === 'linux')('moves to another address', () => {
  test('a gateway that moves answers at both addresses before it gives up the old one', async () => {
    const gateway = await startWaiting();
    const move = gateway.lifecycle.move('127.0.0.2', async () => {
      expect(await (await gateway.at('127.0.0.1')).text()).toBe('here');
      expect(await (await gateway.at('127.0.0.2')).text()).toBe('here');
      return SAVED;
    });
    expect(await move).toMatchObject({ kind: 'now' });
    expect(gateway.lifecycle.url()).toBe(`http://127.0.0.2:${gateway.port}`);
    await expect(gateway.at('127.0.0.1')).rejects.toThrow('fetch failed');
    expect(await (await gateway.at('127.0.0.2')).text()).toBe('here');
  });

  test('a request at an address that is given up is answered to its end, and its connection takes one more at most', async () => {
    const gateway = await startWaiting();
    const caller = connect(Number(gateway.port), '127.0.0.1');
    onTestFinished(() => void caller.destroy());
    let got = '';
    caller.on('data', (bytes: Buffer) => (got += bytes.toString()));
    const head = (path: string) => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;
    caller.write(head('/wait'));
    await once(caller, 'data');
    await gateway.lifecycle.move('127.0.0.2', () => SAVED);
    // Sent before the first answer ends, so that the connection is not idle in between.
    caller.write(head('/') + head('/'));
    gateway.running[0]?.end('finished');
    await once(caller, 'end');
    expect(got).toMatch(/finished[^]*connection: close[^]*here/i);
    expect(got.match(/here/g)).toHaveLength(1);
  });

  test('a move to another address that cannot be saved leaves the gateway where it was', async () => {
    const gateway = await startWaiting();
    await gateway.lifecycle.move('127.0.0.2', () => UNSAVED);
    await expect(gateway.at('127.0.0.2')).rejects.toThrow('fetch failed');
    expect(await (await gateway.at('127.0.0.1')).text()).toBe('here');
  });

  test('a move to an address where another program has the port is reported as failed', async () => {
    const gateway = await startWaiting();
    const other = createServer();
    onTestFinished(() => void other.close());
    other.listen({ host: '127.0.0.2', port: Number(gateway.port) });
    await once(other, 'listening');
    const move = await gateway.lifecycle.move('127.0.0.2', () => SAVED);
    expect(move).toMatchObject({ kind: 'failed', message: expect.stringContaining('taken') });
  });
});

import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import { HELLO } from '../support/client.ts';
import { temporaryDirectory } from '../support/gateway.ts';
import { type HttpAnswer, send } from '../support/http.ts';
import { listening } from '../support/listening.ts';
import { spawnProgram, startCliWithFiles, withFiles } from '../support/process.ts';
import { chatBytes, openWire } from '../support/wire.ts';

/** The program itself holds about forty. */
const FILES = 120;
const CALLERS = 50;

test.skipIf(process.platform === 'win32')(
  'a process without a file descriptor does not think that an engine, machine, name or upstream has gone',
  async () => {
    const models = { data: [{ id: 'm', object: 'model', owned_by: 'vllm' }] };
    const port = await listening(createServer((_req, res) => void res.end(JSON.stringify(models))));
    const command = withFiles(FILES, 'test/e2e/without-descriptors.ts', String(port));
    const { stdout, stderr } = await spawnProgram(command, process.env).ended;
    expect([JSON.parse(stdout || 'null'), stderr]).toEqual([
      {
        before: { engine: 'found', name: 'allowed', machine: 'response', models: 'models' },
        without: {
          engine: 'not_asked',
          name: 'exhausted',
          machine: 'exhausted',
          models: 'gateway_exhausted',
        },
        overTls: 'gateway_exhausted',
      },
      '',
    ]);
  },
);

test.skipIf(process.platform === 'win32')(
  'a gateway out of file descriptors answers 503 with Retry-After and blames no upstream',
  async () => {
    // Never answers, so that each call keeps its connection.
    const port = await listening(createServer(() => {}));
    const cli = startCliWithFiles(FILES, {
      PORT: '0',
      DATA_DIR: temporaryDirectory(),
      LOCAL_ENGINE_URL: `http://127.0.0.1:${port}`,
      HEDGE: 'off',
    });
    const url = await cli.printed(/(http:\/\/127\.0\.0\.1:\d+)/);
    const callers = [];
    for (let caller = 0; caller < CALLERS; caller += 1) callers.push(await openWire(url));
    for (const caller of callers) caller.send(chatBytes(HELLO));
    const refused = await Promise.any(
      callers.map(async (caller) => {
        await caller.received('"code":"overloaded"');
        return caller;
      }),
    );
    refused.leave();
    const others = callers.filter((caller) => caller !== refused);
    for (const caller of others) caller.leave();
    const text = await refused.closed;
    expect(text).toMatch(/^HTTP\/1\.1 503 /);
    expect(text).toMatch(/retry-after: 1\r\n/i);
    expect(text).toMatch(/x-gateway-fallback-reason: local=gateway_exhausted\r\n/i);
    // A few may still be on their way out.
    let answer: HttpAnswer | null = null;
    while (answer === null) answer = await send(`${url}/api/v1/status`).catch(() => null);
    const status = JSON.parse(answer.text) as { circuits: Record<string, unknown> };
    expect(status.circuits['local']).toMatchObject({ fails: 0, open: false });
  },
);

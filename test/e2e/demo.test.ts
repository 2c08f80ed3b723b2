import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { PACE } from '../../main/demo/engine.ts';
import { type RunningDemo, startDemo, startDemoProcess } from '../support/demo.ts';

const run = promisify(execFile);

/** Runs a printed line as its reader would. */
async function shell(line: string | undefined): Promise<string> {
  const { stdout } = await run('sh', ['-c', line ?? 'false']);
  return stdout;
}

function ask(demo: RunningDemo): Promise<Response> {
  return fetch(`${demo.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ stream: true, messages: [{ role: 'user', content: 'hi' }] }),
  });
}

test('the lines that the demo prints do what they say', async () => {
  const [chat, messages, broken] = await startDemoProcess();
  // Its command line asks for a free port.
  expect(chat).not.toContain(':47900');
  expect(await shell(chat)).toMatch(/x-gateway-upstream: local[^]*data: \[DONE\]/);
  // Of an upstream that speaks chat only.
  expect(await shell(messages)).toMatch(/x-gateway-upstream: local[^]*event: message_stop/);
  const fallenBack = await shell(broken);
  expect(fallenBack).toContain('x-gateway-upstream: hosted_a');
  expect(fallenBack).toContain('x-gateway-fallback-reason: local=unreachable');
});

test('each answer of the demo says that it is canned, and one that is cut off is continued by another upstream, word for word', async () => {
  const demo = await startDemo();
  const whole = textOf(await (await ask(demo)).text());
  expect(whole).toMatch(/This .*canned .*text/);
  await demo.break('local', 'cut');
  const carried = await (await ask(demo)).text();
  expect(carried).toContain(': carried on by hosted_a');
  expect(carried).toContain('data: [DONE]');
  expect(textOf(carried)).toBe(whole);
});

test('an upstream after a slow hosted one is called within seconds, time after time', async () => {
  const demo = await startDemo({ ...PACE, wordMs: 4, slowAfterMs: 200 });
  await demo.break('local');
  await demo.break('hosted_a', 'slow');
  for (const _ of [1, 2]) {
    const response = await ask(demo);
    expect(response.headers.get('x-gateway-upstream')).toBe('hosted_b');
    expect(response.headers.get('x-gateway-fallback-reason')).toContain('hosted_a=outrun');
  }
});

/** The text of a streamed answer. */
function textOf(stream: string): string {
  const events = stream.match(/^data: \{.*$/gm) ?? [];
  return events
    .map((event) => JSON.parse(event.slice(6)) as { choices: { delta: { content?: string } }[] })
    .map(({ choices }) => choices[0]?.delta.content ?? '')
    .join('');
}

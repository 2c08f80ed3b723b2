import { expect, test } from 'vitest';
import { systemClock } from '../../main/platform/clock.ts';
import { createKeptLog } from '../support/log.ts';
import { chat, chatStream, HELLO } from '../support/client.ts';
import { startControlled } from '../support/control.ts';
import { bearer, postJson, send } from '../support/http.ts';
import { answers, cut, error, json, ROLE, startUpstream } from '../support/upstream.ts';
import { startBefore } from '../support/scene.ts';

// Every secret holds the same word, so that no part of any of them can hide in an answer.
const WORD = 'hunter2';
const GATEWAY_KEY = `key-${WORD.repeat(3)}-gateway`;
const CALLER_KEY = `sk-caller-${WORD}`;

const BASIC = Buffer.from(`us${WORD}er:${WORD}`).toString('base64');

function withSecrets(url: string): string {
  return url.replace('http://', `http://us${WORD}er:${WORD}@`) + `/base?key=${WORD}`;
}

function remote(name: string, url: string): Record<string, string> {
  return {
    [`${name}_BASE_URL`]: withSecrets(url),
    [`${name}_API_KEY`]: `sk-0123456789-${WORD}-0123456789`,
    [`${name}_HEADERS`]: JSON.stringify({ 'X-Secret': WORD, Authorization: `Basic ${WORD}` }),
    [`${name}_MODEL`]: `model-of-${name}`,
  };
}

/** A gateway full of secrets over upstreams that fail in every way, asked until all of it shows. */
async function startFull() {
  const fails = [error(500), error(401, 'bad key'), cut(ROLE), json(200, '<html>'), error(429)];
  const upstream = await startUpstream(...fails, error(402), answers('hi'));
  const { log, lines } = createKeptLog();
  const gateway = await startControlled(
    {
      LOCAL_ENGINE_URL: withSecrets('http://127.0.0.1:9'),
      ...remote('HOSTED_A', upstream.url),
      ...remote('HOSTED_B', upstream.url),
      ...remote('HOSTED_C', upstream.url),
      ...remote('ONDEMAND', upstream.url),
      API_KEYS: GATEWAY_KEY,
    },
    systemClock,
    log,
  );
  return { upstream, gateway, lines };
}

const KEYED = { 'x-gateway-key': GATEWAY_KEY, ...bearer(CALLER_KEY) };

test('no secret appears in any answer, event, report or log', async () => {
  const { upstream, gateway, lines } = await startFull();
  const { url } = gateway;
  const seen: string[] = [];
  const note = ({ text, headers }: { text: string; headers: object }) =>
    void seen.push(text, JSON.stringify(headers));

  for (let asked = 0; asked < 4; asked += 1) {
    note(await chat(url, HELLO, KEYED));
    note(await chat(url, { ...HELLO, stream: true }, KEYED));
  }
  note(await chat(url, '{"messages":', KEYED));
  note(await chat(url, HELLO, bearer(`not-a-key-${WORD}`)));
  note(await chatStream(url));
  for (const path of ['/api/v1/status', '/v1/models', '/readyz', '/', `/${'x'.repeat(9)}`]) {
    note(await send(url + path, { headers: KEYED }));
    note(await send(url + path, { headers: bearer(`not-a-key-${WORD}`) }));
  }
  note(await gateway.call('GET', 'settings'));
  note(await postJson(`${url}/api/v1/sessions`, { code: WORD }));
  note(await gateway.patch({ hosted_a: { apiKey: `two words ${WORD}` } }));
  seen.push(JSON.stringify(gateway.host.snapshot()), ...lines);

  // The upstreams did get what is secret: it was there to be leaked.
  expect(upstream.calls.map((call) => JSON.stringify(call.headers)).join()).toContain(WORD);
  expect(upstream.calls.map((call) => call.path).join()).toContain(WORD);
  expect(seen.length).toBeGreaterThan(40);
  const token = gateway.control.authorization.replace('Bearer ', '');
  for (const text of seen)
    for (const secret of [WORD, BASIC, token]) expect(text).not.toContain(secret);
});

const PROMPT = 'the-prompt of a caller';

test('the log never holds a prompt or an answer', async () => {
  const { log, lines } = createKeptLog();
  const { gateway } = await startBefore(
    { a: [answers('the-answer'), error(500, `the-error: ${PROMPT}`)] },
    {},
    systemClock,
    log,
  );
  const ask = { messages: [{ role: 'user', content: PROMPT }] };
  await chat(gateway.url, ask);
  await chat(gateway.url, ask);
  for (const line of lines) expect(line).not.toMatch(/the-(prompt|answer|error)/);
  // The window shows an upstream's own words, unless they repeat the request.
  const shown = JSON.stringify(gateway.host.snapshot());
  expect(shown).not.toMatch(/the-(prompt|answer|error)/);
  expect(shown).toContain('HTTP 500: (repeats the request, not shown)');
});

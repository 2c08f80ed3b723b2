import { describe, expect, test } from 'vitest';
import { expectServed, startCall } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import {
  answeredOf,
  askedOf,
  comparable,
  settingsFor,
  WHOLE_PROTOCOLS,
  type WholeProtocol,
} from '../support/protocols.ts';
import { TRANSLATED_PROTOCOLS } from '../support/translated-protocols.ts';
import { responseBytes, startRawUpstream } from '../support/raw-upstream.ts';
import { cutsOf } from '../support/pieces.ts';
import { counted, inFlight, turns } from '../support/report.ts';
import { error, hang, json, startUpstream, type Script } from '../support/upstream.ts';
import { at } from '../support/words.ts';
import { startBefore } from '../support/scene.ts';

/** A gateway with two hosted upstreams: `first` as scripted, and one that answers. */
async function startPair(
  protocol: WholeProtocol,
  first: Script,
  settings = {},
  second = json(200, protocol.whole),
) {
  return startBefore({ a: first, b: second }, { ...settingsFor(protocol), ...settings });
}

const PROTOCOLS = [...WHOLE_PROTOCOLS, ...TRANSLATED_PROTOCOLS];

describe.each(PROTOCOLS)('$name, whole', (protocol) => {
  const { path, body, whole } = protocol;
  const text = JSON.stringify(whole);
  const told = answeredOf(protocol);
  const passed = protocol.translation === null ? ` ${text}\n` : told;

  test('a whole request is passed on byte for byte, to the path of its endpoint', async () => {
    const { a, gateway } = await startPair(protocol, json(200, ` ${text}\n`), {
      HOSTED_A_ASSEMBLE: 'false',
    });
    const answer = await startCall(gateway.url + path, body).answer;
    expect(comparable(answer.text)).toBe(passed);
    expect(answer).toMatchObject({ status: 200, upstream: 'hosted_a' });
    expect(answer.headers['content-type']).toBe('application/json');
    expect(a.calls.map((call) => [call.path, call.body.toString()])).toEqual([
      askedOf(protocol, body),
    ]);
    const alias = await startCall(`${gateway.url}/api${path}`, body).answer;
    expect([alias.status, comparable(alias.text)]).toEqual([200, passed]);
  });

  test.each<readonly [string, Script, string]>([
    ['503', error(503), 'http_503'],
    ['401', error(401), 'credentials'],
    ['an HTML page', json(200, '<html>', { 'content-type': 'text/html' }), 'bad_response'],
    ['half an answer', json(200, text.slice(0, -2)), 'bad_response'],
    ...protocol.unusable.map(
      (value) => [JSON.stringify(value), json(200, value), 'bad_response'] as const,
    ),
  ])('a whole request falls back after %s', async (_what, first, reason) => {
    const { gateway } = await startPair(protocol, first);
    const answer = await startCall(gateway.url + path, body).answer;
    expect(comparable(answer.text)).toBe(told);
    expectServed(answer, 'hosted_b', `hosted_a=${reason}`);
  });

  test('a whole request is the caller’s own fault at 400 once another upstream says so too', async () => {
    const refusals = [error(400, 'bad input'), error(422, 'no such field')] as const;
    const { gateway } = await startPair(protocol, refusals[0], {}, refusals[1]);
    const answer = await startCall(gateway.url + path, body).answer;
    const reason = 'hosted_a=http_400; hosted_b=http_422';
    expect(answer).toMatchObject({ status: 400, upstream: 'hosted_a', reason });
    expect(answer.text).toContain('bad input');
  });

  test('a whole answer that is cut in its head or body falls back, and the caller sees nothing of it', async () => {
    const bytes = responseBytes('length', { 'content-type': 'application/json' }, text);
    // A translation reads the same bytes with the same reader.
    const cuts = cutsOf(bytes, protocol.translation === null ? 13 : 47);
    let length = 0;
    const raw = await startRawUpstream((socket) => void socket.end(bytes.subarray(0, length)));
    const b = await startUpstream(json(200, whole));
    const gateway = await startGateway({
      ...at({ hosted_a: raw.url, hosted_b: b.url }),
      ...settingsFor(protocol),
      FAIL_THRESHOLD: '100000',
    });
    for (length of cuts) {
      const answer = await startCall(gateway.url + path, body).answer;
      expect(answer).toMatchObject({ status: 200, upstream: 'hosted_b' });
      expect(comparable(answer.text)).toBe(told);
    }
  });

  test('a caller that leaves before a whole answer aborts the upstream call', async () => {
    const { a, b, gateway } = await startPair(protocol, hang);
    const pending = startCall(gateway.url + path, body);
    const { gone } = await a.call(1);
    pending.leave();
    await gone;
    await turns(gateway);
    expect([inFlight(gateway), b.calls.length]).toEqual([0, 0]);
    expect(await counted(gateway, 'hosted_a')).toEqual({ fails: 0, successes: 0 });
  });

  test('a whole request is answered by local alone while no money may be spent', async () => {
    const scripts = { local: error(503), a: json(200, whole) };
    const { url, a } = await startBefore(scripts, settingsFor(protocol));
    const free = { 'x-gateway-force-zero': '1' };
    const { status } = await startCall(url + path, body, free).answer;
    expect([status, a.calls.length]).toEqual([503, 0]);
  });
});

import { describe, expect, test } from 'vitest';
import { expectServed, startCall } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import {
  askedOf,
  comparable,
  endedInError,
  eventsOf,
  relayedOf,
  settingsFor,
  STREAM_PROTOCOLS,
  type StreamProtocol,
} from '../support/protocols.ts';
import { TRANSLATED_PROTOCOLS } from '../support/translated-protocols.ts';
import { startRawUpstream } from '../support/raw-upstream.ts';
import { cutsOf } from '../support/pieces.ts';
import { counted, inFlight, turns } from '../support/report.ts';
import { cut, error, json, sse, stall, type Script } from '../support/upstream.ts';
import { startStill } from '../support/scene.ts';

/** A gateway with two hosted upstreams: `first` as scripted, and one that answers whole. */
async function startPair(
  protocol: StreamProtocol,
  first: Script,
  second = sse(...eventsOf(protocol)),
) {
  const settings = { IDLE_TIMEOUT_MS: '5000', RESUME: 'off', FAIL_THRESHOLD: '1000' };
  const { gateway, a, b, clock } = await startStill(
    { a: first, b: second },
    { ...settingsFor(protocol), ...settings },
  );
  const start = (more = {}) =>
    startCall(gateway.url + protocol.path, { ...protocol.body, stream: true, ...more });
  return { a, b, clock, gateway, start };
}

/** What a caller is told of a stream that was cut somewhere. */
function remains(protocol: StreamProtocol, answer: { status: number; text: string }) {
  const { status } = answer;
  const text = comparable(answer.text);
  const whole = relayedOf(protocol, eventsOf(protocol));
  if (status !== 200) return status === 502 ? 'honest' : `status ${status}`;
  // The finish reason completes an answer; what is missing behind it is added.
  if (text.includes(protocol.endMark)) return text === whole ? 'honest' : 'looks complete';
  return whole.startsWith(endedInError(text).before) ? 'honest' : 'not what was sent';
}

const PROTOCOLS = [...STREAM_PROTOCOLS, ...TRANSLATED_PROTOCOLS];

describe.each(PROTOCOLS)('$name, streamed', (protocol) => {
  const { held, content, end, failure, body, path, translation } = protocol;
  const all = eventsOf(protocol);
  const whole = relayedOf(protocol, all);
  const begun = [...held, ...content];

  test('a streamed request is passed on byte for byte, to the path of its endpoint', async () => {
    const { a, b, gateway, start } = await startPair(protocol, sse(...all));
    const more = translation === null ? { extra: 1.0 } : {};
    const answer = await start(more).answer;
    expect(comparable(answer.text)).toBe(whole);
    expectServed(answer, 'hosted_a');
    expect(answer.headers['content-type']).toBe('text/event-stream; charset=utf-8');
    expect(a.calls.map((call) => [call.path, call.body.toString()])).toEqual([
      askedOf(protocol, { ...body, stream: true, ...more }),
    ]);
    expect(b.calls).toHaveLength(0);
    expect(await counted(gateway, 'hosted_a')).toEqual({ fails: 0, successes: 1 });
    expect(gateway.host.snapshot().requests).toMatchObject([{ state: 'done', stream: true }]);
  });

  test('a streamed answer is not written to the caller before the first content', async () => {
    const { a, b, start, gateway } = await startPair(protocol, stall(...held));
    const pending = start();
    const { res, socket } = await a.call(1);
    await turns(gateway, 4);
    res.write(': nothing yet\n\n');
    socket.destroy();
    const answer = await pending.answer;
    expect([comparable(answer.text), answer.reason]).toEqual([whole, 'hosted_a=bad_response']);
    expect(b.calls).toHaveLength(1);
  });

  test.each<[string, Script, string]>([
    ['503', error(503), 'http_503'],
    ['an error before content', sse(...held, failure), 'bad_response'],
    ['a whole error with status 200', json(200, { error: { message: 'no' } }), 'bad_response'],
    ['an end before content', sse(...held), 'bad_response'],
  ])('a streamed request falls back after %s', async (_what, first, reason) => {
    const { start } = await startPair(protocol, first);
    const answer = await start().answer;
    expect(comparable(answer.text)).toBe(whole);
    expectServed(answer, 'hosted_b', `hosted_a=${reason}`);
  });

  test('a streamed answer that fails after content ends in the protocol’s own error, and no other is called', async () => {
    const breaks = [cut(...begun), sse(...begun), sse(...begun, failure, ...end)];
    for (const first of breaks) {
      const { b, gateway, start } = await startPair(protocol, first);
      const answer = await start().answer;
      expect(endedInError(comparable(answer.text)).before).toBe(relayedOf(protocol, begun));
      expect([answer.status, b.calls.length, inFlight(gateway)]).toEqual([200, 0, 0]);
      expect(await counted(gateway, 'hosted_a')).toEqual({ fails: 1, successes: 0 });
    }
  });

  test('a streamed answer ends in an error after a silence', async () => {
    const { a, clock, start } = await startPair(protocol, stall(...begun));
    const pending = start();
    await pending.received('b ');
    clock.advance(5000);
    const { before, code } = endedInError(comparable((await pending.answer).text));
    expect([before, code]).toEqual([relayedOf(protocol, begun), 'upstream_timeout']);
    await a.gone(1);
  });

  test('a streamed answer becomes one JSON answer for a caller that asked for no stream, or falls back', async () => {
    const { a, b, gateway, start } = await startPair(protocol, sse(...all));
    const answer = await start({ stream: false }).answer;
    expectServed(answer, 'hosted_a');
    expect(answer.headers['content-type']).toBe('application/json');
    expect(answer.headers['content-length']).toBe(String(answer.body.length));
    expect(JSON.parse(answer.text)).toMatchObject(protocol.assembled as object);
    expect(await counted(gateway, 'hosted_a')).toEqual({ fails: 0, successes: 1 });
    expect(a.calls[0]?.json['stream']).toBe(true);
    a.script = cut(...begun);
    const fallen = await start({ stream: false }).answer;
    expect(JSON.parse(fallen.text)).toMatchObject(protocol.assembled as object);
    expect([fallen.reason, b.calls.length]).toEqual(['hosted_a=bad_response', 1]);
  });

  test('a streamed answer never looks complete when it is cut, at the end of a line and within', async () => {
    const bytes = Buffer.from(all.join(''));
    // A translation reads the same bytes with the same reader.
    const cuts = cutsOf(bytes, translation === null ? 19 : 59);
    let length = 0;
    const raw = await startRawUpstream((socket) => {
      const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n';
      socket.write(`${head}content-length: ${bytes.length}\r\n\r\n`);
      socket.end(bytes.subarray(0, length));
    });
    const settings = { RESUME: 'off', FAIL_THRESHOLD: '100000', TTFT_SLOW_THRESHOLD: '100000' };
    const gateway = await startGateway({
      HOSTED_A_BASE_URL: raw.url,
      ...settingsFor(protocol),
      ...settings,
    });
    for (length of cuts) {
      const call = startCall(gateway.url + path, { ...body, stream: true });
      const { status, text } = await call.answer;
      expect([length, remains(protocol, { status, text })]).toEqual([length, 'honest']);
    }
  });
});

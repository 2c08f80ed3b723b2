import { expect, test } from 'vitest';
import type { LiveEvent } from '#shared/live.ts';
import { followFeed } from '../../renderer/api/feed.ts';
import { createSseReader } from '../../renderer/api/sse.ts';
import { snapshot } from './builders.ts';

/** Runs the feed over the given answers, one a connection, and tells what happened. */
async function follow(answers: readonly (() => Response)[]) {
  const log: string[] = [];
  const events: LiveEvent[] = [];
  const stop = new AbortController();
  let next = 0;
  await followFeed(
    {
      signal: stop.signal,
      wait: async (ms) => {
        log.push(`wait ${ms}`);
        if (next >= answers.length) stop.abort();
      },
      client: {
        request: async () => {
          const answer = answers[next];
          next += 1;
          if (!answer) throw new TypeError('network');
          return answer();
        },
      },
    },
    {
      onEvent: (event) => events.push(event),
      onLost: () => log.push('lost'),
      onLocked: () => log.push('locked'),
    },
  );
  return { log, events };
}

const stream =
  (...texts: readonly string[]) =>
  () =>
    new Response(texts.join(''));
const line = (event: LiveEvent) => `data: ${JSON.stringify(event)}\n\n`;
const unreachable = () => {
  throw new TypeError('network');
};

test('events of the live feed arrive in order, and its end is a loss', async () => {
  const { log, events } = await follow([stream(line(snapshot()), ': hi\n\n', line(snapshot()))]);
  expect(events).toHaveLength(2);
  expect(log).toEqual(['lost', 'wait 500']);
});

test('an event of the live feed has the hidden characters of a name as their codes', async () => {
  const named = snapshot({ app: { ...snapshot().app, baseUrl: 'rig\u202E\u001b[2J' } });
  const { events } = await follow([stream(line(named))]);
  expect(events).toMatchObject([{ app: { baseUrl: 'rig⟨U+202E⟩⟨U+001B⟩[2J' } }]);
});

test('the pauses between reconnections grow while nothing comes, and start over after an event', async () => {
  const { log } = await follow([unreachable, unreachable, stream(line(snapshot())), unreachable]);
  const waits = log.filter((entry) => entry.startsWith('wait'));
  expect(waits).toEqual(['wait 500', 'wait 1000', 'wait 500', 'wait 1000']);
});

test('a gateway that asks for a key is locked, not lost', async () => {
  const { log } = await follow([() => new Response('', { status: 401 })]);
  expect(log[0]).toBe('locked');
});

test('an event that cannot be read ends the connection, and the next one starts clean', async () => {
  const { log, events } = await follow([stream('data: {half\n\n'), stream(line(snapshot()))]);
  expect(log[0]).toBe('lost');
  expect(events).toHaveLength(1);
});

const STREAM = 'data: {"a":1}\n\n: keep-alive\n\nevent: x\ndata:two\ndata: lines\r\n\r\nid: 7\n\n';

function read(chunks: readonly string[]): readonly string[] {
  const seen: string[] = [];
  const push = createSseReader((data) => seen.push(data));
  for (const chunk of chunks) push(chunk);
  return seen;
}

test('an event stream is read the same wherever it is cut, without comments, events without data and an unfinished one', () => {
  const whole = read([STREAM]);
  expect(whole).toEqual(['{"a":1}', 'two\nlines']);
  for (let cut = 1; cut < STREAM.length; cut += 1)
    expect(read([STREAM.slice(0, cut), STREAM.slice(cut)])).toEqual(whole);
  expect(read(STREAM.split(''))).toEqual(whole);
  expect(read(['data: half\n'])).toEqual([]);
});

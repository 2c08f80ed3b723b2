import { expect, test } from 'vitest';
import { createOutbox, type StoreRequest } from '../../../main/registry/store/open-store.ts';
import { createManualClock } from '../../support/clock.ts';

function outbox() {
  const posted: string[] = [];
  const clock = createManualClock();
  const name = (request: StoreRequest) =>
    request.kind === 'writes' ? request.writes.map(({ id }) => id).join(' ') : request.kind;
  const box = createOutbox((request) => posted.push(name(request)), clock);
  const write = (...ids: readonly number[]) => {
    for (const id of ids) box.write({ id, changes: [] });
  };
  return { posted, clock, write, box };
}

test('writes of one moment go to the database thread in one message', () => {
  const { posted, clock, write } = outbox();
  write(1, 2, 3);
  expect(posted).toEqual([]);
  clock.advance(0);
  expect(posted).toEqual(['1 2 3']);
});

test('messages of writes are 50 ms apart, and a write after a pause waits for nothing', () => {
  const { posted, clock, write } = outbox();
  write(1);
  clock.advance(0);
  write(2);
  clock.advance(30);
  write(3);
  clock.advance(19);
  expect(posted).toEqual(['1']);
  clock.advance(1);
  expect(posted).toEqual(['1', '2 3']);
  clock.advance(50);
  write(4);
  clock.advance(0);
  expect(posted).toEqual(['1', '2 3', '4']);
});

test('a read after a write goes after it, and at once', () => {
  const { posted, clock, write, box } = outbox();
  write(1, 2);
  box.ask({ kind: 'events', id: 3, providerId: 'prv_1', limit: 5 });
  write(4);
  box.ask({ kind: 'close' });
  expect(posted).toEqual(['1 2', 'events', '4', 'close']);
  clock.advance(1000);
  expect(posted).toHaveLength(4);
});

test('a message holds 100 writes at most, however many come at once', () => {
  const { posted, clock, write } = outbox();
  write(...Array.from({ length: 250 }, (_, id) => id));
  clock.advance(50);
  expect(posted.map((ids) => ids.split(' ').length)).toEqual([100, 100, 50]);
  expect(posted.join(' ')).toBe(Array.from({ length: 250 }, (_, id) => id).join(' '));
});

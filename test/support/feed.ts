import { request, type IncomingMessage } from 'node:http';
import type { LiveDelta, LiveEvent, LiveSnapshot } from '#shared/live.ts';
import { onTestFinished } from 'vitest';
import { createLooks, untilSo } from './looks.ts';

/** Reads the live feed as the window does; it is left with the test. */
export async function readFeed(url: string, headers: Readonly<Record<string, string>> = {}) {
  const events: LiveEvent[] = [];
  const comments: string[] = [];
  const req = request(`${url}/api/v1/events`, { agent: false, headers });
  onTestFinished(() => void req.destroy());
  const head = await new Promise<IncomingMessage>((resolve, reject) => {
    req.on('response', resolve).on('error', reject).end();
  });
  let all = '';
  let pending = '';
  const looks = createLooks();
  head.setEncoding('utf8').on('data', (text: string) => {
    all += text;
    const parts = (pending + text).split('\n\n');
    pending = parts.pop() ?? '';
    for (const part of parts) {
      if (part.startsWith('data: ')) events.push(JSON.parse(part.slice(6)) as LiveEvent);
      else comments.push(part);
    }
    looks.look();
  });
  const ended = new Promise<void>((resolve) => head.on('close', () => resolve()));
  head.on('error', () => {});
  return {
    /** Resolves with the n-th event, from 1. */
    event: (n: number) => looks.until(() => events[n - 1]),
    events,
    /** They keep the connection alive. */
    comments,
    /** Resolves when the body so far holds `text`. */
    received: (text: string) => untilSo(looks, () => all.includes(text)),
    /** Stops reading: what the gateway writes piles up. */
    pause: () => void head.pause(),
    resume: () => void head.resume(),
    head,
    /** Resolves when the gateway ends the stream. */
    ended,
    leave: () => void req.destroy(),
  };
}

/** Narrows an event to the kind that a test expects. */
export function asSnapshot(event: LiveEvent): LiveSnapshot {
  if (event.kind !== 'snapshot') throw new Error(`a ${event.kind} came instead of a snapshot`);
  return event;
}

export function asDelta(event: LiveEvent): LiveDelta {
  if (event.kind !== 'delta') throw new Error(`a ${event.kind} came instead of a delta`);
  return event;
}

import type { AttemptRow, RequestRow } from '#shared/live.ts';
import { attempt, request } from './builders.ts';

function row(id: string, attempts: readonly AttemptRow[], over: Partial<RequestRow> = {}) {
  const endMs = Math.max(...attempts.map((each) => each.endMs ?? 0));
  return request(id, { attempts, endMs, model: 'qwen3', ...over });
}

/** Groq was slow, Together's content came first. */
export function hedgeWon(over: Partial<RequestRow> = {}): RequestRow {
  const attempts = [
    attempt({ upstream: 'hosted_a', endMs: 5_900, reason: 'outrun' }),
    attempt({
      upstream: 'hosted_b',
      cause: 'hedge',
      startMs: 5_000,
      firstContentMs: 5_900,
      endMs: 9_400,
    }),
  ];
  return row('hedge-won', attempts, {
    upstream: 'hosted_b',
    fallbackReason: 'hosted_a=outrun',
    ...over,
  });
}

/** Groq was slow, and still its content came first. */
export function hedgeLost(): RequestRow {
  const attempts = [
    attempt({ upstream: 'hosted_a', firstContentMs: 6_400, endMs: 11_000 }),
    attempt({
      upstream: 'hosted_b',
      cause: 'hedge',
      startMs: 5_000,
      endMs: 6_400,
      reason: 'outrun',
    }),
  ];
  return row('hedge-lost', attempts, { upstream: 'hosted_a' });
}

/** Groq dropped the stream, Together continued the answer. */
export function handedOver(over: Partial<RequestRow> = {}): RequestRow {
  const attempts = [
    attempt({ upstream: 'hosted_a', firstContentMs: 400, endMs: 2_600, reason: 'bad_response' }),
    attempt({
      upstream: 'hosted_b',
      cause: 'resume',
      startMs: 2_600,
      firstContentMs: 3_100,
      endMs: 7_000,
    }),
  ];
  return row('handed-over', attempts, { upstream: 'hosted_a', events: 210, ...over });
}

/** Groq was slow, Together came first and dropped the stream, Hosted C continued the answer. */
export function hedgedAndHandedOver(): RequestRow {
  const attempts = [
    ...hedgeWon().attempts.slice(0, 1),
    attempt({
      upstream: 'hosted_b',
      cause: 'hedge',
      startMs: 5_000,
      firstContentMs: 5_900,
      endMs: 12_000,
      reason: 'bad_response',
    }),
    attempt({
      upstream: 'hosted_c',
      cause: 'resume',
      startMs: 12_000,
      firstContentMs: 13_500,
      endMs: 28_000,
    }),
  ];
  return row('both', attempts, {
    upstream: 'hosted_b',
    fallbackReason: 'hosted_a=outrun',
    events: 1_204,
  });
}

/** Two machines of the local tier, of which the second was called beside the first. */
export function hedgedMachine(): RequestRow {
  const attempts = [
    attempt({ provider: 'prv_aaaa1111', machine: 'tower', endMs: 5_600, reason: 'outrun' }),
    attempt({
      provider: 'prv_bbbb2222',
      machine: 'attic',
      cause: 'hedge',
      startMs: 5_000,
      firstContentMs: 5_600,
      lastContentMs: 8_000,
      endMs: 8_000,
    }),
  ];
  return row('hedged', attempts, { fallbackReason: 'local/prv_aaaa1111=outrun' });
}

/** As many attempts as are kept, each refused at once but the last. */
export function sixteen(): RequestRow {
  const upstreams = ['hosted_a', 'hosted_b', 'hosted_c', 'ondemand'] as const;
  const attempts = Array.from({ length: 16 }, (_, index) =>
    attempt({
      upstream: upstreams[index % 4] ?? 'local',
      startMs: index * 310,
      endMs: index * 310 + 300,
      reason: 'http_500',
    }),
  );
  return row('sixteen', attempts, {
    state: 'failed',
    upstream: null,
    status: 502,
    attemptCount: 19,
    fallbackReason: 'hosted_a=http_500; hosted_b=http_500; hosted_c=http_500; ondemand=http_500',
    events: 0,
  });
}

/** As many attempts as are kept, one beside the other wherever that is possible. */
export function crowded(): RequestRow {
  const attempts = Array.from({ length: 16 }, (_, index) => {
    const startMs = Math.floor(index / 2) * 2_000 + (index % 2) * 900;
    return attempt({
      upstream: index % 2 === 0 ? 'hosted_a' : 'hosted_b',
      cause: index % 2 === 0 ? 'turn' : 'hedge',
      startMs,
      endMs: startMs + 1_000,
      reason: 'timeout',
    });
  });
  return row('crowded', attempts, {
    state: 'failed',
    upstream: null,
    status: 504,
    fallbackReason: 'hosted_a=timeout; hosted_b=timeout',
    events: 0,
  });
}

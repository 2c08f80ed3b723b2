import { z } from 'zod';
import type { AgentRecord } from '#shared/provider.ts';
import { registryOrigin } from '../../platform/addresses.ts';
import { isProviderId } from '../../platform/agent-identity.ts';
import { parseHttpDate } from '../../platform/dates.ts';
import { signatureHeaders } from '../../platform/http-signature.ts';
import { fetchBody, type FetchEdges, type FetchResult } from '../../platform/http/fetch-body.ts';
import type { ResponseHeaders } from '../../platform/http/types.ts';
import { parseJson } from '../../platform/json.ts';
import { isSecretShaped } from '../../platform/secrets.ts';
import { excerpt } from '#shared/visible.ts';
import type { AgentIdentity, Sequence } from '../storage.ts';
import type { BeatOutcome, EnrollOutcome, LinkFailure, RegistryLink, SendLimits } from './link.ts';
import type { PoolAnnouncement } from '#shared/pool.ts';

interface HttpLinkDeps extends Pick<FetchEdges, 'http' | 'clock'> {
  /** As in `http://192.168.1.10:47900`. */
  readonly origin: string;
  readonly identity: AgentIdentity;
  readonly sequence: Sequence;
  /** The pool that messages are signed for; undefined for none. */
  readonly pool: () => string | undefined;
}

const ENROLL_PATH = '/api/v1/providers/enroll';
const BEAT_PATH = '/api/v1/providers/heartbeat';
/** Answers are a few hundred bytes. */
const MAX_ANSWER_BYTES = 64 * 1024;
/** A message is sent once more after its sequence or time was corrected, and no more. */
const TRIES = 2;

/** A link to a remote registry: signed messages, one at a time (docs/reference/agent-protocol.md). */
function createHttpLink(deps: HttpLinkDeps): RegistryLink {
  const { origin, identity, sequence, http, clock } = deps;
  let offsetMs = 0;

  async function sendOnce(path: string, body: Buffer, limits: SendLimits): Promise<FetchResult> {
    const createdS = Math.floor((clock.now() + offsetMs) / 1000);
    const signed = signatureHeaders(
      { method: 'POST', path, body },
      {
        privateKey: identity.privateKey,
        keyId: identity.id,
        sequence: await sequence.next(),
        createdS,
        pool: deps.pool(),
      },
    );
    const headers = Object.entries(signed).flat();
    const { timeoutMs, signal } = limits;
    const request = { origin, path, headers, json: body, timeoutMs, maxBytes: MAX_ANSWER_BYTES };
    return fetchBody(request, { http, clock, signal });
  }

  function correct(correction: Correction): void {
    if (correction.kind === 'count_on') sequence.countOnFrom(correction.last);
    else offsetMs = correction.registryMs - clock.now();
  }

  async function send<T>(
    message: { readonly path: string; readonly json: unknown },
    read: (result: FetchResult, nowMs: number) => Read<T>,
    limits: SendLimits,
  ) {
    const body = Buffer.from(JSON.stringify(message.json));
    for (let tries = 1; ; tries += 1) {
      const seen = read(await sendOnce(message.path, body, limits), clock.now());
      if (seen.kind === 'good') return seen.value;
      if (seen.correction === null || tries === TRIES) return seen.failure;
      correct(seen.correction);
    }
  }

  return {
    url: origin,
    clockOffsetMs: () => offsetMs,
    enroll(token, limits) {
      const json = { token, public_key: identity.publicKey };
      return send({ path: ENROLL_PATH, json }, readEnrolled, limits);
    },
    beat: (record: AgentRecord, limits) =>
      send({ path: BEAT_PATH, json: record }, readBeat, limits),
  };
}

/** What the sender can correct by itself before trying again. */
type Correction =
  | { readonly kind: 'count_on'; readonly last: number }
  | { readonly kind: 'set_clock'; readonly registryMs: number };

type Read<T> =
  | { readonly kind: 'good'; readonly value: T }
  | {
      readonly kind: 'bad';
      readonly failure: LinkFailure;
      readonly code: string;
      readonly correction: Correction | null;
    };

const text = z.string().max(4096);

/** An unusable pool counts as none. */
const poolSchema = z
  .object({ id: z.string().regex(/^[\w-]{1,64}$/), registries: z.array(text).max(16) })
  .nullish()
  .transform((pool) => pool ?? null)
  .catch(null);

const enrolledSchema = z.object({
  id: z.string().refine(isProviderId),
  gateway_token: z.string().refine(isSecretShaped),
  pool: poolSchema,
});

const beatSchema = z.object({
  status: text,
  verification: z.object({ status: text, failure_reason: text }),
  heartbeat_ms: z.number().positive(),
  pool: poolSchema,
});

const errorSchema = z.object({ error: z.object({ message: z.string(), code: z.string() }) });

function readEnrolled(result: FetchResult, nowMs: number): Read<EnrollOutcome> {
  return readAnswer(result, nowMs, (json) => {
    const { data } = enrolledSchema.safeParse(json);
    if (data === undefined) return null;
    return { kind: 'enrolled', id: data.id, gatewayToken: data.gateway_token, pool: data.pool };
  });
}

function readBeat(result: FetchResult, nowMs: number): Read<BeatOutcome> {
  const seen = readAnswer<BeatOutcome>(result, nowMs, (json) => {
    const { data } = beatSchema.safeParse(json);
    if (data === undefined) return null;
    const { status, verification, heartbeat_ms: heartbeatMs, pool } = data;
    return { kind: 'accepted', standing: { status, verification }, heartbeatMs, pool };
  });
  if (seen.kind === 'bad' && seen.code === 'registry_unwritten') {
    return { kind: 'good', value: { kind: 'unwritten', message: seen.failure.message } };
  }
  return seen;
}

function readAnswer<T>(
  result: FetchResult,
  nowMs: number,
  good: (json: unknown) => T | null,
): Read<T> {
  if (result.kind !== 'response') {
    return bad({ kind: 'unreachable', message: `The gateway did not answer: ${result.detail}.` });
  }
  const { status, headers } = result;
  const json = parseJson(result.body.toString('utf8'));
  if (status === 200) {
    const value = good(json);
    return value === null ? bad(garbage(status)) : { kind: 'good', value };
  }
  const error = errorSchema.safeParse(json).data?.error;
  const message =
    error === undefined ? `The gateway answered HTTP ${status}.` : excerpt(error.message);
  if (status === 429 || status >= 500) {
    const retryAfterMs = retryAfter(headers, nowMs);
    return bad({ kind: 'busy', message, retryAfterMs }, error?.code);
  }
  if (error === undefined) return bad(garbage(status));
  return refused(status, headers, { code: error.code, message });
}

function refused<T>(
  status: number,
  headers: ResponseHeaders,
  { code, message }: { readonly code: string; readonly message: string },
): Read<T> {
  switch (code) {
    case 'unknown_provider':
      return bad({ kind: code, message }, code);
    case 'sequence_reused': {
      const last = Number(headers['x-gateway-sequence']);
      const correction = Number.isSafeInteger(last) ? ({ kind: 'count_on', last } as const) : null;
      return bad({ kind: code, message }, code, correction);
    }
    case 'clock_skew': {
      const date = headers['date'];
      const registryMs = typeof date === 'string' ? parseHttpDate(date) : null;
      const correction = registryMs === null ? null : ({ kind: 'set_clock', registryMs } as const);
      return bad({ kind: code, message }, code, correction);
    }
    default:
      return bad({ kind: 'refused', status, code: excerpt(code), message }, code);
  }
}

function garbage(status: number): LinkFailure {
  const message = `The server at that address (HTTP ${status}) is not a Switchyard gateway.`;
  return { kind: 'garbage', message };
}

function bad<T>(failure: LinkFailure, code = '', correction: Correction | null = null): Read<T> {
  return { kind: 'bad', failure, code, correction };
}

/** `Retry-After` in milliseconds, from seconds or a date; null if it is missing or invalid. */
function retryAfter(headers: ResponseHeaders, nowMs: number): number | null {
  const value = headers['retry-after'];
  if (typeof value !== 'string') return null;
  if (/^\d{1,9}$/.test(value.trim())) return Number(value) * 1000;
  const at = parseHttpDate(value);
  return at === null ? null : Math.max(0, at - nowMs);
}

interface PoolLinkDeps extends Omit<HttpLinkDeps, 'origin' | 'pool'> {
  /** The gateway that this machine joined. */
  readonly home: string;
  /** Other addresses, from the settings and the join command. */
  readonly others: readonly string[];
  /** As last announced; null if the gateway is in no pool. */
  readonly pool: PoolAnnouncement | null;
  /** Called when the announcement changes. */
  readonly onPool: (pool: PoolAnnouncement) => void;
}

/** A gateway that is silent for this long is passed over, so that all are tried within the timeout of one exchange. */
const TRY_MS = 4000;
/** How often the gateway that the machine joined is tried first again. */
const RETURN_MS = 60_000;

/** A link to any gateway of a pool: the home gateway, or the next one while that is silent. */
export function createPoolLink(deps: PoolLinkDeps): RegistryLink {
  const { home, others, clock } = deps;
  const links = new Map<string, RegistryLink>();
  let { pool } = deps;
  let current = home;
  let homeTicks = -Infinity;

  function linkTo(origin: string): RegistryLink {
    const known = links.get(origin);
    if (known !== undefined) return known;
    const link = createHttpLink({ ...deps, origin, pool: () => pool?.id });
    links.set(origin, link);
    return link;
  }

  /** All addresses, in the order in which they are tried now. */
  function addresses(): readonly string[] {
    const named = [...others, ...(pool?.registries ?? [])].map(registryOrigin);
    const all = [...new Set([home, ...named.filter((each) => each !== null)])];
    if (all.length === 1 || clock.ticks() - homeTicks >= RETURN_MS) return all;
    const at = Math.max(0, all.indexOf(current));
    return [...all.slice(at), ...all.slice(0, at)];
  }

  function learn(announced: PoolAnnouncement | null): void {
    if (announced === null || JSON.stringify(announced) === JSON.stringify(pool)) return;
    pool = announced;
    deps.onPool(announced);
  }

  /** Tries one gateway after another until an answer is final. */
  async function ask<Outcome extends BeatOutcome | EnrollOutcome>(
    limits: SendLimits,
    send: (link: RegistryLink, limits: SendLimits) => Promise<Outcome>,
    stands: (outcome: Outcome) => boolean,
  ): Promise<Outcome> {
    const order = addresses();
    const startedTicks = clock.ticks();
    let best: Outcome | null = null;
    for (const origin of order) {
      const limited = limitedTo(limits, clock.ticks() - startedTicks, order.length);
      if (best !== null && (limited === null || limits.signal.aborted)) break;
      if (origin === home) homeTicks = clock.ticks();
      const outcome: Outcome = await send(linkTo(origin), limited ?? limits);
      if (stands(outcome)) {
        current = origin;
        return outcome;
      }
      if (best === null || (outcome.kind === 'unwritten' && best.kind !== 'unwritten'))
        best = outcome;
    }
    // The next message starts with another gateway, so that each has its turn.
    current = order[1] ?? home;
    return best ?? (await send(linkTo(home), limits));
  }

  return {
    get url() {
      return current;
    },
    clockOffsetMs: () => linkTo(current).clockOffsetMs(),
    async enroll(token, limits) {
      const outcome = await ask<EnrollOutcome>(
        limits,
        (to, most) => to.enroll(token, most),
        isFinal,
      );
      // The caller saves the pool with the rest of the enrolment.
      if (outcome.kind === 'enrolled') ({ pool } = outcome);
      return outcome;
    },
    async beat(record, limits) {
      const outcome = await ask<BeatOutcome>(
        limits,
        (to, most) => to.beat(record, most),
        ({ kind }) => kind === 'accepted',
      );
      if (outcome.kind === 'accepted') learn(outcome.pool);
      return outcome;
    },
  };
}

/** The gateway has accepted or refused the machine, and the others would do the same. */
const isFinal = ({ kind }: EnrollOutcome) =>
  kind !== 'unreachable' && kind !== 'busy' && kind !== 'garbage';

/** The limits for the next of `count` gateways; null once the time is up. */
function limitedTo(limits: SendLimits, passedMs: number, count: number): SendLimits | null {
  const leftMs = limits.timeoutMs - passedMs;
  if (leftMs <= 0) return null;
  return { ...limits, timeoutMs: count === 1 ? leftMs : Math.min(leftMs, TRY_MS) };
}

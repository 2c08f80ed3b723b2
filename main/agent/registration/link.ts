import { z } from 'zod';
import type { AgentMembership, AgentStanding } from '#shared/agent.ts';
import { JOIN_COMMAND } from '#shared/lifetimes.ts';
import type { AgentRecord } from '#shared/provider.ts';
import { excerpt } from '#shared/visible.ts';
import { registryOrigin } from '../../platform/addresses.ts';
import { signatureHeaders } from '../../platform/http-signature.ts';
import { fetchBody, type FetchEdges, type FetchResult } from '../../platform/http/fetch-body.ts';
import type { Answer } from '../../platform/http/routes.ts';
import type { ResponseHeaders } from '../../platform/http/types.ts';
import { parseJson } from '../../platform/json.ts';
import { isSecretShaped } from '../../platform/secrets.ts';
import { type Clock, parseHttpDate } from '../../platform/clock.ts';
import type { AgentIdentity } from '../storage.ts';

/** Why the registry did not accept a message. */
export type LinkFailure = { readonly message: string } &
  /** The registry does not know this machine: it was removed there, or belongs to another gateway. */
  (
    | { readonly kind: 'unknown_provider' }
    /** Our sequence is refused, even when continued from `last`, the registry's; null if it does not name that. */
    | { readonly kind: 'sequence_reused'; readonly last: number | null }
    /** Our time is refused, even after we adopted the registry's; null if it does not name that. */
    | { readonly kind: 'clock_skew'; readonly registryMs: number | null }
    /** Any other refusal; only a person can fix it. */
    | { readonly kind: 'refused'; readonly status: number; readonly code: string }
    /** The registry has received the message, but cannot write; nothing can be done here. */
    | { readonly kind: 'unwritten' }
    /** The registry may accept the message later: 429, 503 and other server errors. */
    | { readonly kind: 'busy'; readonly retryAfterMs: number | null }
    /** `garbage`: the answer does not come from a registry. */
    | { readonly kind: 'garbage' | 'unreachable' }
  );

export type BeatOutcome =
  | { readonly kind: 'accepted'; readonly standing: AgentStanding; readonly heartbeatMs: number }
  | LinkFailure;

export type EnrollOutcome =
  { readonly kind: 'enrolled'; readonly gatewayToken: string } | LinkFailure;

interface SendLimits {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** A way to a registry: in this process, or over HTTP. Its methods never throw. */
export interface RegistryLink {
  /** Shown to the owner; null for the registry of this process. */
  readonly url: string | null;
  beat(record: AgentRecord, limits: SendLimits): Promise<BeatOutcome>;
  /** Milliseconds by which this machine's clock is behind the registry's; 0 until a message is refused for it. */
  clockOffsetMs(): number;
}

/** The registry of this process, passed in by the composition root. */
export interface OwnRegistry {
  adopt(publicKey: string): Promise<{ readonly id: string; readonly gatewayToken: string }>;
  /** Null when `id` is not the adopted one. */
  heartbeat(
    id: string,
    record: AgentRecord,
  ): Promise<Answer<AgentStanding & { readonly heartbeat_ms: number }> | null>;
}

/** The link to the registry of this process needs neither key nor network. */
export function createOwnLink(own: OwnRegistry, id: string): RegistryLink {
  return {
    url: null,
    clockOffsetMs: () => 0,
    async beat(record) {
      const answer = await own.heartbeat(id, record);
      if (answer === null) {
        // The owner has removed it from the list, so it is not enrolled again before the next start.
        const message = "This machine was removed from this gateway's list.";
        return { kind: 'unknown_provider', message };
      }
      if (answer.kind === 'refused') {
        const { status, code, message } = answer;
        if (code === 'registry_unwritten') return { kind: 'unwritten', message };
        return { kind: 'refused', status, code, message };
      }
      const { heartbeat_ms: heartbeatMs, status, verification } = answer.body;
      return { kind: 'accepted', standing: { status, verification }, heartbeatMs };
    },
  };
}

/** No clock shows this; adopting a higher number would exhaust the range. */
const MAX_FOLLOWED = 2 ** 52;

export type Sequence = ReturnType<typeof createSequence>;

/** Numbers for the messages of a key: the time in milliseconds, so that they rise across restarts, too. */
export function createSequence(clock: Clock) {
  let last = 0;
  return {
    next: () => (last = Math.max(last + 1, clock.now())),
    /** Continues after the last number that a registry has accepted: the clock may have been set back since. */
    countOnFrom(accepted: number) {
      if (Number.isSafeInteger(accepted) && accepted < MAX_FOLLOWED)
        last = Math.max(last, accepted);
    },
  };
}

interface HttpLinkDeps extends Pick<FetchEdges, 'http' | 'clock'> {
  readonly identity: AgentIdentity;
  readonly sequence: Sequence;
  /** The gateway that this machine joined, as in `http://192.168.1.10:47900`. */
  readonly home: string;
  /** Addresses of other gateways of its pool, from the settings and the join command. */
  readonly others: readonly string[];
}

const ENROLL_TIMEOUT_MS = 10_000;
/** Answers are a few hundred bytes. */
const MAX_ANSWER_BYTES = 64 * 1024;
/** A gateway that is silent for this long is passed over, so that all are tried within the timeout of one exchange. */
const TRY_MS = 4000;
/** How often the gateway that the machine joined is tried first again. */
const RETURN_MS = 60_000;

/**
 * Sends signed messages, one at a time (docs/contributing/agent-protocol.md), to any gateway of a pool: the home gateway,
 * or the next one while that is silent. Over this link a machine can also enrol.
 */
export function createHttpLink(deps: HttpLinkDeps) {
  const { home, identity, sequence, http, clock } = deps;
  let current = home;
  let homeTicks = -Infinity;
  let clockOffsetMs = 0;

  const named = deps.others.map(registryOrigin).filter((each) => each !== null);
  const all = [...new Set([home, ...named])];

  /** The gateways in the order in which they are tried now. */
  function addresses(): readonly string[] {
    if (all.length === 1 || clock.ticks() - homeTicks >= RETURN_MS) return all;
    const at = Math.max(0, all.indexOf(current));
    return [...all.slice(at), ...all.slice(0, at)];
  }

  function sendOnce<T extends Outcome>(origin: string, { path, body, limits }: Message<T>) {
    const signed = signatureHeaders(
      { method: 'POST', path, body },
      {
        privateKey: identity.privateKey,
        keyId: identity.id,
        sequence: sequence.next(),
        createdS: Math.floor((clock.now() + clockOffsetMs) / 1000),
      },
    );
    const headers = Object.entries(signed).flat();
    const request = { origin, path, headers, json: body, maxBytes: MAX_ANSWER_BYTES };
    const { timeoutMs, signal } = limits;
    return fetchBody({ ...request, timeoutMs }, { http, clock, signal });
  }

  /** Takes over the sequence or the time of a registry that refused ours; whether that may help. */
  function isCorrected(outcome: Outcome): boolean {
    if (outcome.kind === 'sequence_reused' && outcome.last !== null) {
      sequence.countOnFrom(outcome.last);
      return true;
    }
    if (outcome.kind !== 'clock_skew' || outcome.registryMs === null) return false;
    clockOffsetMs = outcome.registryMs - clock.now();
    return true;
  }

  /** Sends a message again if it could be corrected: a clock that was set far back needs both the time and the number. */
  async function sendTo<T extends Outcome>(origin: string, message: Message<T>) {
    const read = async () => readAnswer(await sendOnce(origin, message), message.schema);
    let outcome = await read();
    for (let tries = 0; tries < 2 && isCorrected(outcome); tries += 1) outcome = await read();
    return outcome;
  }

  /** Asks one gateway after another until an answer is final. */
  async function send<T extends Outcome>(message: Message<T>): Promise<T | LinkFailure> {
    const { limits, stands } = message;
    const untilTicks = clock.ticks() + limits.timeoutMs;
    const [first = home, ...others] = addresses();
    const ask = async (origin: string) => {
      if (origin === home) homeTicks = clock.ticks();
      const leftMs = untilTicks - clock.ticks();
      const timeoutMs = others.length === 0 ? leftMs : Math.min(leftMs, TRY_MS);
      const outcome = await sendTo(origin, { ...message, limits: { ...limits, timeoutMs } });
      if (stands(outcome)) current = origin;
      return outcome;
    };
    let best = await ask(first);
    for (const origin of others) {
      if (stands(best) || clock.ticks() >= untilTicks || limits.signal?.aborted === true) break;
      const outcome = await ask(origin);
      if (stands(outcome) || (outcome.kind === 'unwritten' && best.kind !== 'unwritten'))
        best = outcome;
    }
    // The next message starts with another gateway, so that each has its turn.
    if (!stands(best)) current = others[0] ?? home;
    return best;
  }

  return {
    get url() {
      return current;
    },
    clockOffsetMs: () => clockOffsetMs,
    enroll(token: string, signal?: AbortSignal) {
      return send<EnrollOutcome>({
        path: '/api/v1/providers/enroll',
        body: jsonOf({ token, public_key: identity.publicKey }),
        limits: { timeoutMs: ENROLL_TIMEOUT_MS, signal },
        schema: enrolledSchema(identity.id),
        // Another gateway would accept or refuse the machine as this one does.
        stands: (answer) => !isTemporary(answer),
      });
    },
    beat(record: AgentRecord, limits: SendLimits) {
      return send<BeatOutcome>({
        path: '/api/v1/providers/heartbeat',
        body: jsonOf(record),
        limits,
        schema: acceptedSchema,
        stands: ({ kind }) => kind === 'accepted',
      });
    },
  };
}

type Outcome = BeatOutcome | EnrollOutcome;

interface Message<T> {
  readonly path: string;
  readonly body: Buffer;
  readonly limits: SendLimits;
  /** Of the answer to a success, as a registry writes it. */
  readonly schema: z.ZodType<T>;
  /** Whether no other gateway has to be asked. */
  readonly stands: (outcome: T | LinkFailure) => boolean;
}

const jsonOf = (value: unknown) => Buffer.from(JSON.stringify(value));

/** Whether the same message may be accepted later without anyone doing anything. */
export function isTemporary({ kind }: Outcome): boolean {
  return kind === 'busy' || kind === 'unwritten' || kind === 'unreachable' || kind === 'garbage';
}

const text = z.string().max(4096);

const enrolledSchema = (ownId: string) =>
  z
    .object({ id: z.string(), gateway_token: z.string().refine(isSecretShaped) })
    .transform(({ id, gateway_token: gatewayToken }): EnrollOutcome => {
      return id === ownId ? { kind: 'enrolled', gatewayToken } : OTHER_ID;
    });

const OTHER_ID: LinkFailure = {
  kind: 'garbage',
  message: 'The gateway answered for a different machine.',
};

const acceptedSchema = z
  .object({
    status: text,
    verification: z.object({ status: text, routable: z.boolean(), failure_reason: text }),
    heartbeat_ms: z.number().positive(),
  })
  .transform(({ heartbeat_ms: heartbeatMs, ...standing }): BeatOutcome => {
    return { kind: 'accepted', standing, heartbeatMs };
  });

const errorSchema = z.object({ error: z.object({ message: z.string(), code: z.string() }) });

function readAnswer<T>(result: FetchResult, schema: z.ZodType<T>): T | LinkFailure {
  if (result.kind !== 'response')
    return { kind: 'unreachable', message: `The gateway did not answer: ${result.detail}.` };
  const { status, headers } = result;
  const json = parseJson(result.body.toString('utf8'));
  if (status === 200) return schema.safeParse(json).data ?? garbage(status);
  const error = errorSchema.safeParse(json).data?.error;
  const message =
    error === undefined ? `The gateway answered HTTP ${status}.` : excerpt(error.message);
  if (error?.code === 'registry_unwritten') return { kind: 'unwritten', message };
  if (status === 429 || status >= 500)
    return { kind: 'busy', message, retryAfterMs: retryAfter(headers) };
  if (error === undefined) return garbage(status);
  const { code } = error;
  switch (code) {
    case 'unknown_provider':
      return { kind: code, message };
    case 'sequence_reused': {
      const last = Number(headers['x-gateway-sequence']);
      return { kind: code, message, last: Number.isSafeInteger(last) ? last : null };
    }
    case 'clock_skew':
      return { kind: code, message, registryMs: parseHttpDate(String(headers['date'])) };
    default:
      return { kind: 'refused', status, code: excerpt(code), message };
  }
}

function garbage(status: number): LinkFailure {
  const message = `The server at that address (HTTP ${status}) is not an Inglenook gateway.`;
  return { kind: 'garbage', message };
}

/** `Retry-After` in milliseconds; null if it does not have whole seconds, as gateways write it. */
function retryAfter({ 'retry-after': value }: ResponseHeaders): number | null {
  return typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) * 1000 : null;
}

/** A null remedy: there is nothing to do but wait. */
export type LinkProblem = NonNullable<AgentMembership['problem']>;

export function linkProblemOf(failure: LinkFailure): LinkProblem {
  const remedy =
    failure.kind === 'refused'
      ? (REFUSALS[failure.code] ?? 'Check that both programs have the same version.')
      : REMEDIES[failure.kind];
  return { happened: failure.message, remedy };
}

const REMEDIES: Readonly<Record<Exclude<LinkFailure['kind'], 'refused'>, string | null>> = {
  unknown_provider:
    'Join it again: on the gateway choose "Add a machine" and run the join command that it shows on this machine.',
  sequence_reused:
    "Another machine may use a copy of this agent's key. Delete the file agent-key.pem of one of them and join that one again.",
  clock_skew: "Set this machine's clock, or turn on time synchronization.",
  garbage: 'Check the address of the gateway, and that nothing else listens there.',
  unreachable: 'Check that the gateway runs and that this machine can reach its address.',
  unwritten: null,
  busy: null,
};

const REFUSALS: Readonly<Record<string, string>> = {
  invalid_token: `Ask the owner of the gateway for a new join command: each works once, for ${JOIN_COMMAND.words}.`,
  invalid_signature: 'Delete the file agent-key.pem in the data directory and join again.',
  host_not_allowed:
    'Add the name in the address to gateway.allowedHosts (INGLENOOK_ALLOWED_HOSTS) on the gateway, or join it by its IP address.',
  body_too_large: 'The record of this machine is too large; please report this.',
};

import type { AgentRecord } from '#shared/provider.ts';
import { signatureHeaders } from '../../platform/http-signature.ts';
import { fetchBody, type FetchEdges, type FetchResult } from '../../platform/http/fetch-body.ts';
import type { AgentIdentity } from '../storage/identity.ts';
import type { Sequence } from '../storage/sequence.ts';
import type { RegistryLink, SendLimits } from './link.ts';
import { type Correction, type Read, readBeat, readEnrolled } from './responses.ts';

export interface HttpLinkDeps extends Pick<FetchEdges, 'http' | 'clock'> {
  /** As in `http://192.168.1.10:47900`. */
  readonly origin: string;
  readonly identity: AgentIdentity;
  readonly sequence: Sequence;
  /** The pool that messages are signed for; undefined for none. */
  readonly pool?: () => string | undefined;
}

const ENROLL_PATH = '/api/v1/providers/enroll';
const BEAT_PATH = '/api/v1/providers/heartbeat';
/** Answers are a few hundred bytes. */
const MAX_ANSWER_BYTES = 64 * 1024;
/** A message is sent once more after its sequence or time was corrected, and no more. */
const TRIES = 2;

/** A link to a remote registry: signed messages, one at a time (docs/agent-protocol.md). */
export function createHttpLink(deps: HttpLinkDeps): RegistryLink {
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
        pool: deps.pool?.(),
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

/** The origin of a gateway's address; null if signed messages cannot be sent there. */
export function registryOrigin(url: string): string | null {
  if (!URL.canParse(url)) return null;
  const { protocol, origin, pathname, username, password, search } = new URL(url);
  const isPlain = pathname === '/' && username === '' && password === '' && search === '';
  return isPlain && (protocol === 'http:' || protocol === 'https:') ? origin : null;
}

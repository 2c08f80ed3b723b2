import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { ByteBuffer } from '../byte-buffer.ts';
import { createDecoder, isDecodable } from './decoding.ts';

/** Why a body is not taken. `no_room`: the budget for bodies in flight is used up. */
export type BodyRefusal = 'too_large' | 'no_room';

interface BodyLimits {
  readonly maxBytes: number;
  /** The caller gives it back after use. */
  readonly share?: BodyShare;
}

/**
 * Reads a whole body; `aborted`: the caller went away while sending. After a refusal the rest is read and dropped,
 * until the caller closes the connection.
 */
export async function readBody(
  req: IncomingMessage,
  limits: BodyLimits,
): Promise<Buffer | BodyRefusal | 'aborted'> {
  const length = req.headers['content-length'];
  const announcedBytes = length === undefined ? null : Number(length);
  const refusalAt = refusalsBy(limits, announcedBytes);
  // A body that came with its head is there once the parser has gone through the read.
  await Promise.resolve();
  const isAtHand = req.readableLength > 0 && req.readableLength === announcedBytes;
  const refusal = refusalAt(isAtHand ? announcedBytes : 0);
  // Without listeners (5 % of a plain request).
  if (isAtHand && refusal === null) return req.read() as Buffer;
  const body = refusal ?? (await gathered(req, refusalAt, announcedBytes ?? undefined));
  if (body === 'too_large' || body === 'no_room') limits.share?.giveBack();
  return body;
}

const refusalsBy =
  ({ maxBytes, share }: BodyLimits, announcedBytes: number | null) =>
  (bytes: number): BodyRefusal | null => {
    if (Math.max(bytes, announcedBytes ?? 0) > maxBytes) return 'too_large';
    return share?.hold(bytes, announcedBytes) === false ? 'no_room' : null;
  };

/** What a stream brings up to its end or a refusal; `aborted`: it broke off. */
function gathered(
  source: Readable,
  refusalAt: (bytes: number) => BodyRefusal | null,
  announcedBytes?: number,
): Promise<Buffer | BodyRefusal | 'aborted'> {
  return new Promise((resolve) => {
    const body = new ByteBuffer(announcedBytes);
    let isOver = false;
    const end = (read: Buffer | BodyRefusal | 'aborted') => {
      isOver = true;
      resolve(read);
    };
    source.on('data', (chunk: Buffer) => {
      if (isOver) return;
      const refusal = refusalAt(body.length + chunk.length);
      if (refusal === null) {
        body.add(chunk);
        return;
      }
      body.clear();
      end(refusal);
    });
    source.on('end', () => end(body.take()));
    source.on('close', () => end('aborted'));
    source.on('error', () => end('aborted'));
  });
}

/** As `readBody`, decoded if it was sent compressed. */
export async function readPlainBody(
  req: IncomingMessage,
  limits: Required<BodyLimits>,
): Promise<Buffer | BodyRefusal | 'unknown_coding' | 'undecodable' | 'aborted'> {
  const coding = req.headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  if (coding === 'identity') return readBody(req, limits);
  if (!isDecodable(coding)) return 'unknown_coding';
  const sent = await readBody(req, limits);
  if (typeof sent === 'string') return sent;
  const decoder = createDecoder(coding).end(sent);
  const body = await gathered(decoder, refusalsBy(limits, null));
  // A few bytes may stand for gigabytes.
  decoder.destroy();
  return body === 'aborted' ? 'undecodable' : body;
}

/** A limit on the memory of all request bodies in flight together. */
export type BodyBudget = ReturnType<typeof createBodyBudget>;
export type BodyShare = ReturnType<BodyBudget['share']>;

/**
 * Reserved beyond what has come, so that most bodies are refused before they are sent. A whole announced length would
 * let a few slow uploads use up the budget without sending anything.
 */
const STEP_BYTES = 64 * 1024;

/** Each body counts `copies` times, because that many copies are in memory. */
export function createBodyBudget(copies: number) {
  let reservedBytes = 0;
  return {
    /** A new, empty share for one request, of a budget of `maxBytes` as set now. */
    share(maxBytes: number) {
      let ownBytes = 0;
      const reserve = (addedBytes: number) => {
        if (reservedBytes + addedBytes > maxBytes) return false;
        ownBytes += addedBytes;
        reservedBytes += addedBytes;
        return true;
      };
      return {
        /** Reserves room for a body of which `bytes` have come; false if there is none. null: no length was announced. */
        hold(bytes: number, announcedBytes: number | null) {
          const wanted = Math.min(announcedBytes ?? bytes, bytes + STEP_BYTES) * copies;
          return wanted <= ownBytes || reserve(wanted - ownBytes);
        },
        /** Reserves one further copy of this many bytes. */
        takeCopy: reserve,
        giveBack() {
          reservedBytes -= ownBytes;
          ownBytes = 0;
        },
      };
    },
    /** The largest body that an unused budget of `maxBytes` has room for. */
    largestBytes: (maxBytes: number) => Math.floor(maxBytes / copies),
  };
}

import { hash, sign, verify, type KeyObject } from 'node:crypto';
import { parseSignature } from './agent-identity.ts';

/** Agents use one fixed profile of HTTP Message Signatures (RFC 9421; docs/contributing/agent-protocol.md). */
const COMPONENTS = '("@method" "@path" "content-digest" "x-gateway-sequence")';
const TAG = 'inglenook-agent';

interface Content {
  readonly method: string;
  /** Without the query, which is not signed and must not be used. */
  readonly path: string;
  readonly body: Buffer;
}

export interface SignedMessage extends Content {
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

interface Signer {
  readonly privateKey: KeyObject;
  /** The provider id of the key. */
  readonly keyId: string;
  readonly sequence: number;
  /** Seconds since the epoch. */
  readonly createdS: number;
}

export function signatureHeaders(content: Content, signer: Signer): Record<string, string> {
  const { privateKey, keyId, createdS } = signer;
  const sequence = String(signer.sequence);
  const digest = digestOf(content.body);
  const params = `${COMPONENTS};created=${createdS};keyid="${keyId}";alg="ed25519";tag="${TAG}"`;
  const base = signatureBase(content, { digest, sequence, params });
  return {
    'content-digest': digest,
    'x-gateway-sequence': sequence,
    'signature-input': `inglenook=${params}`,
    signature: `inglenook=:${sign(null, base, privateKey).toString('base64')}:`,
  };
}

export type SignatureCheck =
  | {
      readonly kind: 'valid';
      readonly keyId: string;
      readonly sequence: number;
      readonly createdS: number;
    }
  /** A header is missing or does not follow the profile; `detail` is for people. */
  | { readonly kind: 'malformed'; readonly detail: string }
  | { readonly kind: 'unknown_key'; readonly keyId: string }
  | { readonly kind: 'digest_mismatch' }
  | { readonly kind: 'forged' };

/** Verifies a message with the key that it names; the cheapest checks come first. */
export function checkSignature(
  message: SignedMessage,
  keyOf: (keyId: string) => KeyObject | null,
): SignatureCheck {
  const read = readHeaders(message.headers);
  if (read.kind === 'malformed') return read;
  const key = keyOf(read.keyId);
  if (key === null) return { kind: 'unknown_key', keyId: read.keyId };
  if (read.digest !== digestOf(message.body)) return { kind: 'digest_mismatch' };
  const base = signatureBase(message, { ...read, sequence: String(read.sequence) });
  if (!verify(null, base, key, read.signature)) return { kind: 'forged' };
  const { keyId, sequence, createdS } = read;
  return { kind: 'valid', keyId, sequence, createdS };
}

interface ReadHeaders {
  readonly kind: 'read';
  readonly digest: string;
  readonly sequence: number;
  /** The text after the label, which is part of the signed text as received. */
  readonly params: string;
  readonly keyId: string;
  readonly createdS: number;
  readonly signature: Buffer;
}

function readHeaders(
  headers: SignedMessage['headers'],
): ReadHeaders | Extract<SignatureCheck, { kind: 'malformed' }> {
  const malformed = (detail: string) => ({ kind: 'malformed', detail }) as const;
  const values = new Map<string, string>();
  for (const name of ['Content-Digest', 'X-Gateway-Sequence', 'Signature-Input', 'Signature']) {
    const value = headers[name.toLowerCase()];
    if (value === undefined) return malformed(`the ${name} header is missing`);
    // A header that came twice is a list.
    if (typeof value !== 'string') return malformed(`the ${name} header came more than once`);
    values.set(name, value);
  }
  const digest = values.get('Content-Digest') ?? '';
  if (!/^sha-256=:[A-Za-z0-9+/]{43}=:$/.test(digest)) {
    return malformed('Content-Digest must be one sha-256');
  }
  const sequence = sequenceIn(values.get('X-Gateway-Sequence') ?? '');
  if (sequence === null) return malformed('X-Gateway-Sequence must be a positive integer');
  const input = readInput(values.get('Signature-Input') ?? '');
  if (input === null) {
    return malformed(
      `Signature-Input must be inglenook=${COMPONENTS} with the parameters created, keyid, alg="ed25519" and tag="${TAG}"`,
    );
  }
  const wrapped = /^inglenook=:([A-Za-z0-9+/=]{88}):$/.exec(values.get('Signature') ?? '');
  const signature = parseSignature(wrapped?.[1] ?? '');
  if (signature === null) return malformed('Signature must be inglenook=:<64 bytes in base64>:');
  return { kind: 'read', digest, sequence, ...input, signature };
}

function sequenceIn(text: string): number | null {
  const sequence = Number(text);
  return /^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(sequence) ? sequence : null;
}

type ReadInput = Pick<ReadHeaders, 'params' | 'keyId' | 'createdS'>;

function readInput(value: string): ReadInput | null {
  const label = 'inglenook=';
  if (!value.startsWith(label + COMPONENTS) || value.length > 512) return null;
  const params = value.slice(label.length);
  const [before, ...pairs] = params.slice(COMPONENTS.length).split(';');
  const valueOf = (pattern: RegExp) => pairs.flatMap((pair) => pattern.exec(pair)?.[1] ?? [])[0];
  const keyId = valueOf(/^keyid="([\w./-]{1,64})"$/);
  const created = valueOf(/^created=(\d{1,12})$/);
  const isOurs = pairs.includes('alg="ed25519"') && pairs.includes(`tag="${TAG}"`);
  // Each of the four is there, so none is there twice.
  if (before !== '' || pairs.length !== 4 || !isOurs) return null;
  if (keyId === undefined || created === undefined) return null;
  return { params, keyId, createdS: Number(created) };
}

function digestOf(body: Buffer): string {
  return `sha-256=:${hash('sha256', body, 'base64')}:`;
}

function signatureBase(
  { method, path }: Pick<Content, 'method' | 'path'>,
  signed: Readonly<Record<'digest' | 'sequence' | 'params', string>>,
): Buffer {
  const { digest, sequence, params } = signed;
  return Buffer.from(
    [
      `"@method": ${method}`,
      `"@path": ${path}`,
      `"content-digest": ${digest}`,
      `"x-gateway-sequence": ${sequence}`,
      `"@signature-params": ${params}`,
    ].join('\n'),
  );
}

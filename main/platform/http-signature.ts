import { hash, sign, verify, type KeyObject } from 'node:crypto';
import { parseSignature } from './agent-identity.ts';

/** The part of HTTP Message Signatures (RFC 9421) that agents use; docs/agent-protocol.md has it in full. */
const COMPONENTS = '("@method" "@path" "content-digest" "x-gateway-sequence")';
const TAG = 'switchyard-agent';

/** What a signature covers, but for the headers. */
interface Content {
  readonly method: string;
  /** Without the query, which is not signed and says nothing. */
  readonly path: string;
  readonly body: Buffer;
}

/** A message of an agent, as it came. */
export interface SignedMessage extends Content {
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** Who signs, as what, and when. */
export interface Signer {
  readonly privateKey: KeyObject;
  /** The provider id of the key. */
  readonly keyId: string;
  readonly sequence: number;
  /** Seconds since the epoch. */
  readonly createdS: number;
}

/** The headers that make a message a signed one. */
export function signatureHeaders(content: Content, signer: Signer): Record<string, string> {
  const { privateKey, keyId, createdS } = signer;
  const sequence = String(signer.sequence);
  const digest = digestOf(content.body);
  const params = `${COMPONENTS};created=${createdS};keyid="${keyId}";alg="ed25519";tag="${TAG}"`;
  const base = signatureBase(content, { digest, sequence, params });
  return {
    'content-digest': digest,
    'x-gateway-sequence': sequence,
    'signature-input': `switchyard=${params}`,
    signature: `switchyard=:${sign(null, base, privateKey).toString('base64')}:`,
  };
}

/** What a signature is worth. */
export type SignatureCheck =
  | {
      readonly kind: 'valid';
      readonly keyId: string;
      readonly sequence: number;
      readonly createdS: number;
    }
  /** A header is missing or not what the protocol says; `detail` is for people. */
  | { readonly kind: 'malformed'; readonly detail: string }
  | { readonly kind: 'unknown_key'; readonly keyId: string }
  /** The body is not the one that was signed. */
  | { readonly kind: 'digest_mismatch' }
  | { readonly kind: 'forged' };

/** Checks a message against the key that it names; the cheapest checks come first. */
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
  /** The text after the label, which is signed as it came. */
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
    // Node joins a header that came twice; a list of values is not one value.
    if (typeof value !== 'string') return malformed(`the ${name} header came more than once`);
    values.set(name, value);
  }
  const digest = values.get('Content-Digest') ?? '';
  if (!/^sha-256=:[A-Za-z0-9+/]{43}=:$/.test(digest)) {
    return malformed('Content-Digest must be one sha-256');
  }
  const sequenceText = values.get('X-Gateway-Sequence') ?? '';
  const sequence = Number(sequenceText);
  if (!/^[1-9]\d{0,15}$/.test(sequenceText) || !Number.isSafeInteger(sequence)) {
    return malformed('X-Gateway-Sequence must be a positive integer');
  }
  const input = readInput(values.get('Signature-Input') ?? '');
  if (input === null) {
    return malformed(
      `Signature-Input must be switchyard=${COMPONENTS} with the parameters created, keyid, alg="ed25519" and tag="${TAG}"`,
    );
  }
  const wrapped = /^switchyard=:([A-Za-z0-9+/=]{88}):$/.exec(values.get('Signature') ?? '');
  const signature = parseSignature(wrapped?.[1] ?? '');
  if (signature === null) return malformed('Signature must be switchyard=:<64 bytes in base64>:');
  return { kind: 'read', digest, sequence, ...input, signature };
}

/** One parameter of the inner list: an integer or a quoted string of plain characters. */
const PARAMETER = /;([a-z]+)=(?:(\d{1,12})|"([\w./-]{1,64})")/y;

function readInput(value: string): Pick<ReadHeaders, 'params' | 'keyId' | 'createdS'> | null {
  const label = 'switchyard=';
  if (!value.startsWith(label + COMPONENTS) || value.length > 512) return null;
  const params = value.slice(label.length);
  const seen = new Map<string, string>();
  for (let at = COMPONENTS.length; at < params.length; at = PARAMETER.lastIndex) {
    PARAMETER.lastIndex = at;
    const [, name = '', integer, text] = PARAMETER.exec(params) ?? [];
    const isInteger = name === 'created';
    const given = isInteger ? integer : text;
    if (given === undefined || seen.has(name)) return null;
    seen.set(name, given);
  }
  const [keyId, created] = [seen.get('keyid'), seen.get('created')];
  const isOurs = seen.size === 4 && seen.get('alg') === 'ed25519' && seen.get('tag') === TAG;
  if (!isOurs || keyId === undefined || created === undefined) return null;
  return { params, keyId, createdS: Number(created) };
}

function digestOf(body: Buffer): string {
  return `sha-256=:${hash('sha256', body, 'base64')}:`;
}

function signatureBase(
  { method, path }: Pick<Content, 'method' | 'path'>,
  { digest, sequence, params }: Readonly<Record<'digest' | 'sequence' | 'params', string>>,
): Buffer {
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

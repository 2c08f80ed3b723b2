import { createPrivateKey, generateKeyPairSync, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { parsePublicKey } from '../../main/platform/agent-identity.ts';
import {
  checkSignature,
  signatureHeaders,
  type SignedMessage,
} from '../../main/platform/http-signature.ts';

/** RFC 9421, B.1.4. */
const privateKey = createPrivateKey(`-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF
-----END PRIVATE KEY-----`);
const publicKey = 'JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs';
const keyId = 'prv_b16c2d1bead1262639764fdb0ee4d377';
const key = parsePublicKey(publicKey) ?? expect.unreachable();
const keyOf = (id: string) => (id === keyId ? key : null);

const CONTENT = {
  method: 'POST',
  path: '/api/v1/providers/enroll',
  body: Buffer.from(JSON.stringify({ token: '0f'.repeat(32), public_key: publicKey })),
};
const SIGNER = { privateKey, keyId, sequence: 1, createdS: 1_790_000_000 };

function signed(): SignedMessage & { headers: Record<string, string> } {
  return { ...CONTENT, headers: signatureHeaders(CONTENT, SIGNER) };
}

const check = (message: SignedMessage) => checkSignature(message, keyOf);

/** The message with one header as a test wants it. */
function withHeader(name: string, change: (value: string) => string): SignedMessage {
  const message = signed();
  return {
    ...message,
    headers: { ...message.headers, [name]: change(message.headers[name] ?? '') },
  };
}

test('the worked example of docs/contributing/agent-protocol.md comes out letter by letter', () => {
  const text = readFileSync(
    join(import.meta.dirname, '../../docs/contributing/agent-protocol.md'),
    'utf8',
  );
  const example = text.slice(text.indexOf('## A worked example'));
  const headerOf = (name: string) => new RegExp(`^${name}: (.+)$`, 'm').exec(example)?.[1];
  expect(signed().headers).toEqual({
    'content-digest': headerOf('Content-Digest'),
    'x-gateway-sequence': headerOf('X-Gateway-Sequence'),
    'signature-input': headerOf('Signature-Input'),
    signature: headerOf('Signature'),
  });
  expect(example).toContain(CONTENT.body.toString());
  const checked = check(signed());
  expect(checked).toEqual({ kind: 'valid', keyId, sequence: 1, createdS: 1_790_000_000 });
});

test.each<[what: string, message: () => SignedMessage, kind: string]>([
  ['method', () => ({ ...signed(), method: 'PUT' }), 'forged'],
  ['path', () => ({ ...signed(), path: '/api/v1/providers/heartbeat' }), 'forged'],
  ['body', () => ({ ...signed(), body: Buffer.from('{}') }), 'digest_mismatch'],
  ['sequence', () => withHeader('x-gateway-sequence', () => '2'), 'forged'],
  ['time', () => withHeader('signature-input', (v) => v.replace('179', '178')), 'forged'],
  ['digest', () => withHeader('content-digest', (v) => v.replace('o', 'p')), 'digest_mismatch'],
  ['signature', () => withHeader('signature', (v) => v.replace(':x', ':y')), 'forged'],
])('a message whose %s was changed after signing is refused', (_what, message, kind) => {
  expect(check(message())).toMatchObject({ kind });
});

test('a signature covers the digest: body and digest cannot be changed together', () => {
  const body = Buffer.from('{}');
  const other = signatureHeaders({ ...CONTENT, body }, SIGNER);
  const message = signed();
  const digest = other['content-digest'] ?? '';
  const headers = { ...message.headers, 'content-digest': digest };
  expect(check({ ...message, body, headers })).toEqual({ kind: 'forged' });
});

test('a signature made with another key is forged, whatever it claims', () => {
  const stranger = generateKeyPairSync('ed25519').privateKey;
  const headers = signatureHeaders(CONTENT, { ...SIGNER, privateKey: stranger });
  expect(check({ ...CONTENT, headers })).toEqual({ kind: 'forged' });
});

test('an unknown key id is a result of its own, before anything is computed', () => {
  const headers = signatureHeaders(CONTENT, { ...SIGNER, keyId: 'prv_0' });
  const checked = check({ ...CONTENT, headers, body: Buffer.from('other') });
  expect(checked).toEqual({ kind: 'unknown_key', keyId: 'prv_0' });
});

test('signature parameters may come in any order, as long as they are signed in it', () => {
  const parameters = ['created=1790000000', `keyid="${keyId}"`, 'alg="ed25519"'];
  const orders = fc.shuffledSubarray([...parameters, 'tag="inglenook-agent"'], { minLength: 4 });
  fc.assert(
    fc.property(orders, (order) => {
      const { headers } = signed();
      const input = headers['signature-input'] ?? '';
      const params = [input.slice('inglenook='.length, input.indexOf(';')), ...order].join(';');
      const base = [
        `"@method": ${CONTENT.method}`,
        `"@path": ${CONTENT.path}`,
        `"content-digest": ${headers['content-digest']}`,
        '"x-gateway-sequence": 1',
        `"@signature-params": ${params}`,
      ].join('\n');
      const signature = sign(null, Buffer.from(base), privateKey).toString('base64');
      const message = {
        ...CONTENT,
        headers: {
          ...headers,
          'signature-input': `inglenook=${params}`,
          signature: `inglenook=:${signature}:`,
        },
      };
      expect(check(message)).toMatchObject({ kind: 'valid', sequence: 1 });
    }),
  );
});

test.each(['content-digest', 'x-gateway-sequence', 'signature-input', 'signature'])(
  'a message without %s is refused, and the header named',
  (name) => {
    const { [name]: _gone, ...headers } = signed().headers;
    const result = check({ ...signed(), headers });
    expect(result).toMatchObject({ kind: 'malformed' });
    expect(JSON.stringify(result).toLowerCase()).toContain(`the ${name} header is missing`);
  },
);

test.each(['content-digest', 'x-gateway-sequence', 'signature-input', 'signature'])(
  'a message with %s twice is refused, as Node joins it or as a list',
  (name) => {
    const { headers } = signed();
    const value = headers[name] ?? '';
    for (const twice of [`${value}, ${value}`, [value, value]]) {
      const message = { ...signed(), headers: { ...headers, [name]: twice } };
      expect(check(message)).toMatchObject({ kind: 'malformed' });
    }
  },
);

test.each(['0', '-1', '01', '1.5', '1e3', ' 1', '', 'x', '9007199254740992', '9'.repeat(17)])(
  'a message with the sequence %j is refused',
  (value) => {
    expect(check(withHeader('x-gateway-sequence', () => value))).toEqual({
      kind: 'malformed',
      detail: 'X-Gateway-Sequence must be a positive integer',
    });
  },
);

test.each([
  ['sha-512', (v: string) => v.replace('256', '512')],
  ['two digests', (v: string) => `${v}, sha-512=:AA==:`],
  ['no wrapping', (v: string) => v.replaceAll(':', '')],
  ['nothing', () => ''],
])('a message whose digest has %s is refused', (_what, change) => {
  expect(check(withHeader('content-digest', change))).toMatchObject({ kind: 'malformed' });
});

test.each([
  ['another label', (v: string) => v.replace('inglenook=', 'sig1=')],
  ['a second label', (v: string) => `${v}, sig1=("@method");created=1`],
  ['fewer components', (v: string) => v.replace(' "x-gateway-sequence"', '')],
  ['no components', (v: string) => v.replace(/\(.*\)/, '()')],
  [
    'components in another order',
    (v: string) => v.replace('"@method" "@path"', '"@path" "@method"'),
  ],
  ['an extra component', (v: string) => v.replace('"@path"', '"@path" "host"')],
  ['a component parameter', (v: string) => v.replace('"@path"', '"@path";req')],
  ['no created', (v: string) => v.replace(/;created=\d+/, '')],
  ['no keyid', (v: string) => v.replace(/;keyid="[^"]+"/, '')],
  ['no alg', (v: string) => v.replace(';alg="ed25519"', '')],
  ['no tag', (v: string) => v.replace(/;tag="[^"]+"/, '')],
  ['another alg', (v: string) => v.replace('"ed25519"', '"hmac-sha256"')],
  ['another tag', (v: string) => v.replace('"inglenook-agent"', '"other"')],
  ['an expiry', (v: string) => `${v};expires=1790000060`],
  ['created twice', (v: string) => v.replace(';keyid', ';created=1790000000;keyid')],
  ['created as text', (v: string) => v.replace('=1790000000', '="1790000000"')],
  ['created below zero', (v: string) => v.replace('=1790000000', '=-1790000000')],
  ['keyid as a number', (v: string) => v.replace(/keyid="[^"]+"/, 'keyid=1')],
  ['an open quote', (v: string) => v.slice(0, -1)],
  ['blanks', (v: string) => v.replaceAll(';', '; ')],
  ['a keyid of 5,000 digits', (v: string) => v.replace('prv_', 'a'.repeat(5000))],
  ['nothing', () => ''],
])('a message whose Signature-Input has %s is refused', (_what, change) => {
  const result = check(withHeader('signature-input', change));
  expect(result).toMatchObject({ kind: 'malformed' });
  expect(JSON.stringify(result)).toContain('Signature-Input must be');
});

test.each([
  ['another label', (v: string) => v.replace('inglenook=', 'sig1=')],
  ['no wrapping', (v: string) => v.replaceAll(':', '')],
  ['63 bytes', () => `inglenook=:${Buffer.alloc(63).toString('base64')}:`],
  ['65 bytes', () => `inglenook=:${Buffer.alloc(65).toString('base64')}:`],
  ['base64url', (v: string) => v.replace('+', '-')],
])('a message whose Signature has %s is refused', (_what, change) => {
  expect(check(withHeader('signature', change))).toMatchObject({ kind: 'malformed' });
});

test('no garbage in any header passes or throws', () => {
  const names = ['content-digest', 'x-gateway-sequence', 'signature-input', 'signature'];
  fc.assert(
    fc.property(fc.constantFrom(...names), fc.string(), (name, text) => {
      const message = withHeader(name, () => text);
      fc.pre(message.headers[name] !== signed().headers[name]);
      expect(check(message).kind).not.toBe('valid');
    }),
  );
});

test('every signed body, sequence and time is valid', () => {
  const content = fc.record({
    body: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
    sequence: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
    createdS: fc.integer({ min: 0, max: 9_999_999_999 }),
  });
  fc.assert(
    fc.property(content, ({ body, sequence, createdS }) => {
      const signer = { ...SIGNER, sequence, createdS };
      const headers = signatureHeaders({ ...CONTENT, body }, signer);
      const result = check({ ...CONTENT, body, headers });
      expect(result).toEqual({ kind: 'valid', keyId, sequence, createdS });
    }),
    { numRuns: 50 },
  );
});

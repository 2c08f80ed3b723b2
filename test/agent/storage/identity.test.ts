import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createEnrollmentFile, openIdentity } from '../../../main/agent/storage.ts';
import { digestOf } from '../../../main/platform/secrets.ts';
import { createManualClock } from '../../support/clock.ts';
import { temporaryDirectory } from '../../support/gateway.ts';

const clock = createManualClock();
const open = (directory: string) => openIdentity(directory, clock);
const modeOf = (path: string) => statSync(path).mode & 0o777;

test('a key is made once, for its owner only, and stays', () => {
  const directory = temporaryDirectory();
  const { identity, warnings } = open(directory);
  expect(warnings).toEqual([]);
  expect(modeOf(join(directory, 'agent-key.pem'))).toBe(0o600);
  expect(open(directory).identity.id).toBe(identity.id);
  expect(identity.id).toMatch(/^prv_[0-9a-f]{32}$/);
});

test.each(['', 'no key', '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n'])(
  'a damaged key (%j) is set aside and replaced, and the owner learns of it',
  (text) => {
    const directory = temporaryDirectory();
    const { id } = open(directory).identity;
    writeFileSync(join(directory, 'agent-key.pem'), text);
    const { identity, warnings } = open(directory);
    expect(identity.id).not.toBe(id);
    expect(warnings).toEqual([
      {
        happened: expect.stringContaining('set aside as'),
        remedy: expect.stringContaining('join it again'),
      },
    ]);
    const aside = readdirSync(directory).find((name) => name.includes('.bad-')) ?? '';
    expect(readFileSync(join(directory, aside), 'utf8')).toBe(text);
    expect(open(directory)).toMatchObject({ identity: { id: identity.id }, warnings: [] });
  },
);

test('a key file that others can read is made private', () => {
  const directory = temporaryDirectory();
  open(directory);
  const path = join(directory, 'agent-key.pem');
  chmodSync(path, 0o644);
  expect(open(directory).warnings).toEqual([
    {
      happened: expect.stringContaining('other users'),
      remedy: expect.stringContaining('delete the file'),
    },
  ]);
  expect(modeOf(path)).toBe(0o600);
});

test('an enrolment is kept as a secret, and a damaged one is set aside', async () => {
  const directory = temporaryDirectory();
  const file = createEnrollmentFile(directory, clock);
  const enrolment = {
    registryUrl: 'http://gateway:47900',
    id: 'prv_1',
    gatewayToken: 'a'.repeat(64),
    others: ['http://cellar:47900'],
  };
  const token = 'b'.repeat(64);
  expect(await file.save(enrolment, token)).toBeNull();
  expect(modeOf(join(directory, 'agent.json'))).toBe(0o600);
  const saved = { ...enrolment, tokenDigest: digestOf(token) };
  expect(file.load()).toEqual({ enrolment: saved, warning: null });
  writeFileSync(join(directory, 'agent.json'), '{"version":1}');
  expect(file.load()).toMatchObject({
    enrolment: null,
    warning: {
      happened: expect.stringContaining('set aside as'),
      remedy: expect.stringContaining('Join it again'),
    },
  });
  expect(file.load()).toEqual({ enrolment: null, warning: null });
});

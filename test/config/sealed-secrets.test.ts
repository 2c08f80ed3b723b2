import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createLiveConfig } from '../../main/config/live-config.ts';
import { loadedOf } from '../support/config.ts';
import { readSettings } from '../../main/config/settings-file.ts';
import { createSecretBox, newBoxKey, type SecretBox } from '../../main/platform/secrets.ts';
import { temporaryDirectory } from '../support/gateway.ts';

const KEY = 'sk-very-secret-0123456789';

/** A start of the program with this data directory; `box` is the keychain's, null for a server. */
function start(directory: string, box: SecretBox | null) {
  const read = readSettings(directory, box);
  const loaded = loadedOf({}, read.tree, undefined, read.sealed);
  const files = { directory, hasNamedKeys: () => false, secretBox: box };
  const config = createLiveConfig(loaded, files, () => undefined);
  const fact = () => {
    const { value, source } = config.view()['hosted_a']?.['apiKey'] ?? {};
    return { value, source, inForce: config.current().hosted_a.apiKey };
  };
  return { config, read, fact };
}

const fileOf = (directory: string) => readFileSync(join(directory, 'secrets.json'), 'utf8');

test('a key is sealed before it reaches the disk, is shown as such, and is there at the next start', () => {
  const directory = temporaryDirectory();
  const box = createSecretBox(newBoxKey());
  const first = start(directory, box);
  const apiKeys = ['for-apps-0123456789-0123456789'];
  const patched = first.config.patch({ hosted_a: { apiKey: KEY }, gateway: { apiKeys } }).kind;
  expect(patched).toBe('patched');
  expect(first.fact().source).toBe('keychain');
  expect(fileOf(directory)).not.toContain(KEY);
  expect(fileOf(directory)).not.toContain('for-apps');
  const second = start(directory, box);
  expect(second.fact()).toMatchObject({ source: 'keychain', inForce: KEY });
  expect(second.config.current().gateway.apiKeys).toEqual(apiKeys);
  expect(second.read).toMatchObject({ lost: [] });
});

test('keys in the file move to the keychain and back, and nothing else does', () => {
  const directory = temporaryDirectory();
  const before = start(directory, null);
  before.config.patch({ hosted_a: { apiKey: KEY, model: 'm' } });
  expect(before.fact().source).toBe('file');
  const box = createSecretBox(newBoxKey());
  const app = start(directory, box);
  expect(app.config.keepSecretsIn(box).kind).toBe('patched');
  expect([app.fact().source, fileOf(directory).includes(KEY)]).toEqual(['keychain', false]);
  expect(app.config.keepSecretsIn(null).kind).toBe('patched');
  expect([app.fact().source, fileOf(directory).includes(KEY)]).toEqual(['file', true]);
  expect(readFileSync(join(directory, 'settings.json'), 'utf8')).toContain('"model": "m"');
  expect(start(directory, null).fact()).toMatchObject({ source: 'file', inForce: KEY });
});

test('a lost keychain loses the key and no setting, says which, and keeps it for a keychain that returns', () => {
  const directory = temporaryDirectory();
  const box = createSecretBox(newBoxKey());
  start(directory, box).config.patch({ hosted_a: { apiKey: KEY, model: 'm' } });
  for (const other of [createSecretBox(newBoxKey()), null]) {
    const { fact, read, config } = start(directory, other);
    expect(fact()).toEqual({ value: null, source: 'default', inForce: null });
    expect(config.current().hosted_a.model).toBe('m');
    expect(read.lost).toContain('hosted_a.apiKey');
    config.patch({ hosted_b: { apiKey: 'sk-another-0123456789-0123' } });
  }
  expect(start(directory, box).fact().inForce).toBe(KEY);
});

test('a server writes a key over one that it cannot open', () => {
  const directory = temporaryDirectory();
  start(directory, createSecretBox(newBoxKey())).config.patch({ hosted_a: { apiKey: KEY } });
  start(directory, null).config.patch({ hosted_a: { apiKey: 'sk-new-0123456789-0123456' } });
  const after = start(directory, null);
  expect(after.fact()).toMatchObject({ source: 'file', inForce: 'sk-new-0123456789-0123456' });
  expect(after.read.lost).toEqual([]);
});

test('keys that a keychain opens later take effect, except those that were entered since', () => {
  const directory = temporaryDirectory();
  const box = createSecretBox(newBoxKey());
  const earlier = start(directory, box).config;
  earlier.patch({ hosted_a: { apiKey: KEY }, hosted_b: { apiKey: KEY } });
  const { config, fact } = start(directory, null);
  let saved = 0;
  config.onSecretSaved(() => void saved++);
  config.patch({ hosted_b: { apiKey: 'sk-entered-0123456789-01', model: 'm' } });
  expect([fact().inForce, saved]).toEqual([null, 1]);
  config.openSecrets(box);
  expect(fact()).toMatchObject({ source: 'keychain', inForce: KEY });
  expect(config.current().hosted_b.apiKey).toBe('sk-entered-0123456789-01');
});

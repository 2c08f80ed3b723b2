import { expect, test } from 'vitest';
import { loadConfig } from '../../main/config/load.ts';

function warningsOf(env: Readonly<Record<string, string>>): readonly string[] {
  const result = loadConfig(env, {});
  return result.kind === 'loaded' ? result.warnings : result.problems;
}

test.each(['HTTPS_PROXY', 'https_proxy', 'ALL_PROXY'])(
  'the variable %s brings a warning that no proxy is used, if an upstream could need one',
  (name) => {
    const proxy = { [name]: 'http://user:secret@proxy.test:8080' };
    const hosted = { INGLENOOK_HOSTED_A_BASE_URL: 'https://api.example.com/v1' };
    expect(warningsOf({ ...proxy, ...hosted })).toEqual([
      `${name} is set, but Inglenook uses no proxy: it connects to upstreams directly`,
    ]);
    expect(warningsOf(proxy)).toEqual([]);
    expect(warningsOf({ ...hosted, [name]: '' })).toEqual([]);
  },
);

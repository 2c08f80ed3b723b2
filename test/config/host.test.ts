import { expect, test } from 'vitest';
import { loadConfig } from '../../main/config/load.ts';

function problems(values: Readonly<Record<string, string>>): readonly string[] {
  const named = Object.entries(values).map(([name, value]) => [`INGLENOOK_${name}`, value]);
  const result = loadConfig(Object.fromEntries(named) as Record<string, string>, {});
  return result.kind === 'refused' ? result.problems : [];
}

test.each(['0.0.0.0', '::', '192.168.1.5', 'gpu.lan', '127.0.0.1.evil.example'])(
  'the HOST %s without keys refuses the start and says how to make one, and starts with a key',
  (host) => {
    const [problem, ...more] = problems({ HOST: host });
    expect(more).toEqual([]);
    expect(problem).toContain(`INGLENOOK_HOST is "${host}"`);
    expect(problem).toContain('INGLENOOK_API_KEYS');
    expect(problem).toContain('openssl rand -hex 24');
    expect(problems({ HOST: host, API_KEYS: 'k'.repeat(16) })).toEqual([]);
  },
);

test.each(['127.0.0.1', '127.8.9.10', 'localhost', '::1'])('the HOST %s needs no key', (host) => {
  expect(problems({ HOST: host })).toEqual([]);
});

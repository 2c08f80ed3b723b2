import { expect, test } from 'vitest';
import { isSamePlace } from '../../main/agent/addresses.ts';

const NAMES = ['Tower', 'tower.local', '192.168.1.20'];

test.each([
  ['http://localhost:11434', true],
  ['http://[::ffff:127.0.0.1]:11434', true],
  ['http://tower:11434', true],
  ['http://TOWER.local:11434', true],
  ['http://192.168.1.20:11434', true],
  ['http://host.docker.internal:11434', true],
  ['http://tower:8080', false],
  ['http://elsewhere:11434', false],
])('an engine at 127.0.0.1:11434 is the one at %s: %s', (origin, isSame) => {
  expect(isSamePlace('http://127.0.0.1:11434', origin, NAMES)).toBe(isSame);
});

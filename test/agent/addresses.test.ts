import { expect, test } from 'vitest';
import { isOnThisMachine } from '../../main/agent/addresses.ts';

const NAMES = ['Tower', 'tower.local', '192.168.1.20'];

test.each([
  ['http://localhost:11434', true],
  ['http://[::ffff:127.0.0.1]:11434', true],
  ['http://TOWER.local:11434', true],
  ['http://192.168.1.20:11434', true],
  ['http://host.docker.internal:11434', true],
  ['http://elsewhere:11434', false],
])('whether an engine at %s is on this machine is known by its names: %s', (origin, isHere) => {
  expect(isOnThisMachine(origin, () => NAMES)).toBe(isHere);
});

import { expect, test, vi } from 'vitest';
import { isOnThisMachine } from '../../main/agent/addresses.ts';
import { startAgent } from '../support/agent.ts';

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

test('the program of an agent hears of a new name of its machine at the next look', async () => {
  const changed = vi.fn<() => void>();
  const { telemetry, clock } = await startAgent({ changed });
  telemetry.now = { ...telemetry.now, tailnet: { hostname: 'tower.ts.net', ip: '100.64.0.1' } };
  changed.mockClear();
  clock.advance(5000);
  expect(changed).toHaveBeenCalled();
});

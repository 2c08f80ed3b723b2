import { expect, test } from 'vitest';
import { openerOf } from '../../main/cli/open.ts';

test.each<[NodeJS.Platform, Record<string, string>, string | undefined]>([
  ['darwin', {}, 'open'],
  ['win32', {}, 'rundll32'],
  ['linux', { DISPLAY: ':0' }, 'xdg-open'],
  ['linux', { WAYLAND_DISPLAY: 'wayland-0' }, 'xdg-open'],
  ['linux', {}, undefined],
])('on %s with %j the browser is opened by %s', (platform, env, command) => {
  expect(openerOf(platform, env)?.[0]).toBe(command);
});

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createNotifier, notifySystemd } from '../../../main/cli/service/notify.ts';
import { createManualClock } from '../../support/clock.ts';
import { temporaryDirectory } from '../../support/gateway.ts';
import { startProgram } from '../../support/process.ts';

function notifierWith(env: Readonly<Record<string, string>>) {
  const clock = createManualClock();
  const sent: string[] = [];
  const notifier = createNotifier({ env, pid: 100, clock, send: (state) => sent.push(state) });
  return { clock, sent, notifier };
}

test('the systemd watchdog is notified twice in its interval once the gateway is ready', () => {
  const { clock, sent, notifier } = notifierWith({
    NOTIFY_SOCKET: '/run/notify',
    WATCHDOG_USEC: '60000000',
    WATCHDOG_PID: '100',
  });
  clock.advance(90_000);
  expect(sent).toEqual([]);
  notifier.ready();
  clock.advance(29_999);
  expect(sent).toEqual(['READY=1']);
  clock.advance(30_001);
  expect(sent).toEqual(['READY=1', 'WATCHDOG=1', 'WATCHDOG=1']);
  notifier.stopping();
  expect(sent.at(-1)).toBe('STOPPING=1');
});

test.each([
  ['no watchdog', {}],
  ['the watchdog of another process', { WATCHDOG_USEC: '1000000', WATCHDOG_PID: '99' }],
])('systemd with %s is notified of readiness alone', (_what, env) => {
  const { clock, sent, notifier } = notifierWith({ NOTIFY_SOCKET: '/run/notify', ...env });
  notifier.ready();
  clock.advance(600_000);
  expect(sent).toEqual(['READY=1']);
});

test('no notification is sent outside systemd', () => {
  const { sent, notifier } = notifierWith({ WATCHDOG_USEC: '1000000' });
  notifier.ready();
  notifier.stopping();
  expect(sent).toEqual([]);
});

test.runIf(process.platform !== 'win32')(
  'a systemd-notify that cannot be started is reported, whether Node tells of it or throws',
  async () => {
    const [empty, looped] = [temporaryDirectory(), temporaryDirectory()];
    symlinkSync('systemd-notify', join(looped, 'systemd-notify'));
    for (const PATH of [empty, looped]) {
      const { promise, resolve } = Promise.withResolvers<string>();
      notifySystemd({ PATH, NOTIFY_SOCKET: '/run/notify' }, resolve)('READY=1');
      expect(await promise).toMatch(/^spawn .*E(NOENT|LOOP)$/);
    }
  },
);

test.runIf(process.platform !== 'win32')(
  'a gateway tells systemd that it is ready once it serves, and that it stops',
  async () => {
    const tools = temporaryDirectory();
    const told = join(tools, 'told');
    writeFileSync(
      join(tools, 'systemd-notify'),
      `#!/bin/sh\necho "$NOTIFY_SOCKET $*" >> ${told}\n`,
    );
    chmodSync(join(tools, 'systemd-notify'), 0o755);
    const cli = startProgram({
      PATH: `${tools}${delimiter}${process.env['PATH'] ?? ''}`,
      NOTIFY_SOCKET: '/run/test/notify',
      INGLENOOK_DATA_DIR: temporaryDirectory(),
      INGLENOOK_PORT: '0',
      INGLENOOK_AGENT: 'false',
    });
    await cli.printed(/Dashboard: /);
    const lines = () => (existsSync(told) ? readFileSync(told, 'utf8') : '');
    await expect.poll(lines).toBe('/run/test/notify READY=1\n');
    cli.kill('SIGTERM');
    expect(await cli.ended).toMatchObject({ code: 0, stderr: '' });
    await expect.poll(lines).toContain('/run/test/notify STOPPING=1\n');
  },
);

const RECEIVER = `import socket, sys
server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
server.bind(sys.argv[1])
print('bound', flush=True)
while True: print(server.recvmsg(4096, 4096, socket.MSG_CMSG_CLOEXEC)[0].decode(errors='replace'), flush=True)`;

const CAN_RECEIVE =
  process.platform === 'linux' &&
  ['python3', 'systemd-notify'].every((tool) => spawnSync(tool, ['--version']).error === undefined);

test.runIf(CAN_RECEIVE)(
  'the message to systemd reaches its socket through systemd’s own tool',
  async () => {
    const socket = join(temporaryDirectory(), 'notify');
    const receiver = spawn('python3', ['-c', RECEIVER, socket]);
    onTestFinished(async () => {
      receiver.kill();
      if (receiver.exitCode === null && receiver.signalCode === null) await once(receiver, 'close');
    });
    let heard = '';
    receiver.stdout.setEncoding('utf8').on('data', (text: string) => (heard += text));
    await expect.poll(() => heard).toContain('bound');
    const cli = startProgram({
      NOTIFY_SOCKET: socket,
      INGLENOOK_DATA_DIR: temporaryDirectory(),
      INGLENOOK_PORT: '0',
      INGLENOOK_AGENT: 'false',
    });
    await expect.poll(() => heard).toContain('READY=1');
    cli.kill('SIGTERM');
    await cli.ended;
  },
);

import { mkdirSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { connect, createServer, type ListenOptions, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readControlToken } from '../../main/platform/secrets.ts';
import { startGateway, temporaryDirectory } from '../support/gateway.ts';
import { listening } from '../support/listening.ts';
import { own, runHere, sayHere, startStandIn, writeOwner } from '../support/owned-gateway.ts';

const TOKEN = 'c'.repeat(64);
/** Too long to stand in a nonce by chance. */
const PART_OF_TOKEN = TOKEN.slice(0, 16);

/** All commands call the gateway in one way; this one has a secret to send, and "leave" also works without one. */
const SECRET = 'set hosted_a.apiKey sk-the-key-of-the-owner';

/** A program on the port of a gateway; `heard` is all that came to it. */
async function startStranger(talk: (socket: Socket) => void, at?: ListenOptions) {
  let heard = '';
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (part: Buffer) => (heard += part.toString('latin1')));
    talk(socket);
  });
  const { host = '127.0.0.1' } = at ?? {};
  const port = await listening(server, host, at?.port);
  return { url: `http://${host}:${port}`, heard: () => heard };
}

/** Answers everything, as a program that is no Inglenook. */
const says = (answer: string) => (socket: Socket) => {
  socket.on('data', () => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${answer.length}\r\n\r\n${answer}`);
  });
};

/** A data directory whose gateway runs, with a stranger at its address. */
function held(url: string): string {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, 'control-token'), TOKEN);
  own(directory, url);
  return directory;
}

/** A data directory whose gateway was killed. */
function abandoned(url: string): string {
  const DATA_DIR = temporaryDirectory();
  writeFileSync(join(DATA_DIR, 'control-token'), TOKEN);
  writeFileSync(join(DATA_DIR, 'lock'), '');
  // The process of that id lives, but is no gateway: ids are given again, in containers at once.
  writeOwner(DATA_DIR, { url });
  return DATA_DIR;
}

test('a command sends nothing to the program on a dead gateway’s port, and says that no gateway runs', async () => {
  const { url, heard } = await startStranger(says('{}'));
  expect(await runHere(abandoned(url), SECRET)).toMatchObject({
    kind: 'failed',
    message: expect.stringMatching(/^No gateway is running with the data directory .+$/),
    exitCode: 3,
  });
  expect(heard()).toBe('');
});

test('the command "leave" removes the enrolment itself after a crash, and contacts no other program', async () => {
  const { url, heard } = await startStranger(says('{}'));
  const outcome = await runHere(abandoned(url), 'leave');
  expect([outcome, heard()]).toMatchObject([{ kind: 'answer', data: { left: null } }, '']);
});

test.each([SECRET, 'leave'])(
  'the command "%s" sends no secret to a program that answers for the gateway',
  async (line) => {
    const { url, heard } = await startStranger(says('{"proof":"","ok":true}'));
    expect(await runHere(held(url), line)).toMatchObject({
      kind: 'failed',
      message: expect.stringMatching(/^Could not verify that the program at \S+ is your gateway./),
      exitCode: 1,
    });
    expect(heard()).toContain('GET /api/v1/proof?nonce=');
    expect(heard()).not.toMatch(/c{16}|authorization|owner/i);
  },
);

test.each([
  ['a page', 'HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n<html></html>'],
  ['an error', 'HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}'],
  ['a redirection', 'HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n'],
  ['a proof of its own', `HTTP/1.1 200 OK\r\n\r\n{"proof":"${'0'.repeat(64)}"}`],
  ['no end', `HTTP/1.1 200 OK\r\n\r\n${' '.repeat(100_000)}`],
])(
  'a program that answers for the gateway with %s is said not to have proved itself',
  async (_what, answer) => {
    const { url, heard } = await startStranger((socket) => {
      socket.on('data', () =>
        socket.write(answer, () => void (answer.includes('"0') && socket.end())),
      );
    });
    const { code, stdout, stderr } = await sayHere({ DATA_DIR: held(url) }, 'status');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(`Could not verify that the program at ${url} is`);
    expect(heard()).not.toContain(PART_OF_TOKEN);
  },
);

test.each(['SSH-2.0-OpenSSH_9.2p1\r\n', ''])(
  'a program that speaks no HTTP, or closes at once, is said not to answer (%j)',
  async (answer) => {
    const { url, heard } = await startStranger((socket) => socket.end(answer));
    const { code, stdout, stderr } = await sayHere({ DATA_DIR: held(url) }, 'status');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^The \S+ .*did not answer.*\n$/);
    expect(heard()).not.toContain(PART_OF_TOKEN);
  },
);

/** Passes on all that comes. */
const relayTo = (host: string, port: number) => (socket: Socket) => {
  const onward = connect({ host, port });
  onTestFinished(() => void onward.destroy());
  onward.on('error', () => {});
  socket.pipe(onward).pipe(socket);
};

// Only Linux has all of loopback without being asked.
const PLACES = process.platform === 'linux' ? ['127.0.0.1', '127.0.0.99'] : ['127.0.0.1'];

test.each(PLACES)(
  'a program that relays to the gateway from another port, or the same one of another address, does not get the token (%s)',
  async (host) => {
    const { url: gateway, dataDirectory } = await startGateway({});
    const port = Number(new URL(gateway).port);
    const at = { host, port: host === '127.0.0.1' ? 0 : port };
    const { url, heard } = await startStranger(relayTo('127.0.0.1', port), at);
    own(dataDirectory, url);
    const { code, stderr } = await sayHere({ DATA_DIR: dataDirectory }, 'status');
    expect([code, stderr]).toEqual([1, expect.stringContaining('no token was sent')]);
    expect(heard()).toContain('GET /api/v1/proof?nonce=');
    expect(heard()).not.toContain(readControlToken(dataDirectory));
  },
);

test('a program that takes the port right after the proof is not sent the token', async () => {
  const DATA_DIR = temporaryDirectory();
  const asked: (string | undefined)[] = [];
  const listener: RequestListener = (req, res) => {
    asked.push(req.url?.split('?')[0]);
    res.end('{}');
  };
  await startStandIn(DATA_DIR, listener, { connection: 'close' });
  const { code, stderr } = await sayHere({ DATA_DIR }, 'status');
  expect([code, stderr]).toEqual([1, expect.stringContaining('did not answer')]);
  expect(asked).toEqual([]);
});

test.each([SECRET, 'leave'])(
  'the command "%s" does nothing at a gateway of another version, and says to restart it',
  async (line) => {
    const DATA_DIR = temporaryDirectory();
    const asked: (string | undefined)[] = [];
    const { url } = await startStandIn(DATA_DIR, (req, res) => {
      asked.push(req.url);
      res.end('{}');
    });
    for (const version of [{}, { version: '0.0.9' }]) {
      writeOwner(DATA_DIR, { url, ...version });
      expect(await runHere(DATA_DIR, line)).toMatchObject({
        kind: 'failed',
        message: expect.stringMatching(/ version\b.+: restart it, so that both are the same\.$/),
      });
    }
    expect(asked).toEqual([]);
  },
);

test('the command "open" opens the page of a gateway of another version', async () => {
  const DATA_DIR = temporaryDirectory();
  const link = 'http://127.0.0.1:1/#code=1';
  const { url } = await startStandIn(DATA_DIR, (_req, res) => res.end(JSON.stringify({ link })));
  writeOwner(DATA_DIR, { url, version: '0.0.9' });
  expect(await runHere(DATA_DIR, 'open --print')).toMatchObject({ text: link });
});

test('the process id shows whether a gateway runs if its directory cannot be locked', async () => {
  const { url, dataDirectory: DATA_DIR } = await startGateway({});
  mkdirSync(join(DATA_DIR, 'lock'));
  own(DATA_DIR, url);
  expect((await sayHere({ DATA_DIR }, 'status')).stdout).toContain('Nothing is configured');
  writeOwner(DATA_DIR, { url, pid: 2 ** 22 + 1 });
  expect(await sayHere({ DATA_DIR }, 'status')).toMatchObject({ code: 3 });
});

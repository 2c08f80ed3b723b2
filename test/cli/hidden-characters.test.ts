import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../support/gateway.ts';
import { listening } from '../support/listening.ts';
import { sayHere, startStandIn } from '../support/owned-gateway.ts';

/** Clears a terminal, forges a line, and reads as `exe.gnp` turned round. */
const NAME = 'tower\u001b[2J\nroot: ok\u202Egnp.exe\u0085';
const SEEN = 'tower⟨U+001B⟩[2J⟨U+000A⟩root: ok⟨U+202E⟩gnp.exe⟨U+0085⟩';
/** The same in a sentence that is made one line: what breaks a line is a blank there. */
const SEEN_IN_LINE = SEEN.replace('⟨U+000A⟩', ' ');
/** Output of a command that is no terminal has nothing hidden but its own line breaks. */
const HIDDEN = /[^\P{Cc}\n]|[\u061C\u200B\u200E\u200F\u202A-\u202E\u2066-\u2069]/u;

test('a command prints the hidden characters of an answer, a refusal and a log as their codes', async () => {
  const DATA_DIR = temporaryDirectory();
  await startStandIn(DATA_DIR, (req, res) => {
    const isRead = req.method === 'GET';
    const answer = isRead ? { data: [{ id: NAME, owned_by: NAME }] } : { error: { message: NAME } };
    res.writeHead(isRead ? 200 : 404, { 'content-type': 'application/json' });
    res.end(JSON.stringify(answer));
  });
  mkdirSync(join(DATA_DIR, 'logs'));
  const line = JSON.stringify({ time: 't', level: 'info', event: 'request', model: NAME });
  writeFileSync(join(DATA_DIR, 'logs', 'inglenook.log'), `${line}\n`);
  for (const typed of ['models', 'models --json', 'reset hosted_a', 'logs']) {
    const { stdout, stderr } = await sayHere({ DATA_DIR }, ...typed.split(' '));
    const said = stdout + stderr;
    expect([typed, HIDDEN.exec(said)?.[0]]).toEqual([typed, undefined]);
    expect([typed, said]).toEqual([typed, expect.stringContaining(SEEN)]);
  }
});

test('join shows the hidden characters of a refusal as their codes', async () => {
  const body = JSON.stringify({ error: { message: NAME, code: 'invalid_token', type: 'x' } });
  const port = await listening(
    createServer((_req, res) =>
      res.writeHead(401, { 'content-type': 'application/json' }).end(body),
    ),
  );
  const settings = { DATA_DIR: temporaryDirectory(), AGENT: 'true' };
  const line = ['join', `http://127.0.0.1:${port}`, '0f'.repeat(32)];
  const { code, stderr } = await sayHere(settings, ...line);
  expect(code).toBe(1);
  expect(stderr).toContain(SEEN_IN_LINE);
  expect(stderr).not.toMatch(HIDDEN);
});

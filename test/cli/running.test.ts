import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import type { StatusReport } from '#shared/status.ts';
import { logDirectory } from '../../main/cli/logs.ts';
import { type Clock, systemClock } from '../../main/platform/clock.ts';
import { parseJson } from '../../main/platform/json.ts';
import { createLog, fileSink, logFile } from '../../main/platform/log.ts';
import { createManualClock } from '../support/clock.ts';
import { controlOf } from '../support/control.ts';
import { startIn, temporaryDirectory } from '../support/gateway.ts';
import { bearer, postJson } from '../support/http.ts';
import { sayHere, startOwned, startStandIn } from '../support/owned-gateway.ts';
import { asVariables } from '../support/config.ts';
import { PROGRAM, spawnProgram, startCli, startProgram } from '../support/process.ts';
import { answers, error, type Script, startUpstream } from '../support/upstream.ts';

/** A gateway in this process, with its commands and its log. */
async function startRunning(
  settings: Readonly<Record<string, string>> = {},
  clock: Clock = systemClock,
) {
  const DATA_DIR = temporaryDirectory();
  const write = fileSink(logDirectory(DATA_DIR));
  const log = createLog({ level: 'info', format: 'json', write });
  const { host, url } = await startOwned(settings, clock, log, DATA_DIR);
  const run = (...args: readonly string[]) => sayHere({ DATA_DIR }, ...args);
  return { DATA_DIR, host, url, run };
}

/** The program, as a shell would start it. */
const spawnHere = (DATA_DIR: string, line: readonly string[], env: NodeJS.ProcessEnv = {}) => {
  const [command = '', ...args] = line;
  const child = spawn(command, args, {
    cwd: join(import.meta.dirname, '../..'),
    env: { PATH: process.env['PATH'], INGLENOOK_DATA_DIR: DATA_DIR, ...env },
  });
  onTestFinished(() => void child.kill());
  return child;
};

/** Writes the log of an earlier run; gives its path. */
function writeLog(dataDirectory: string): string {
  mkdirSync(logDirectory(dataDirectory));
  const path = logFile(logDirectory(dataDirectory));
  writeFileSync(path, '{"time":"t","level":"info","event":"stopped"}\n');
  return path;
}

/** Resolves once the log has a request. */
const requestLogged = async (dataDirectory: string) => {
  const log = () => readFileSync(logFile(logDirectory(dataDirectory)), 'utf8');
  await expect.poll(log).toContain('"event":"request"');
};

const say = (url: string) =>
  postJson(`${url}/v1/chat/completions`, { messages: [{ role: 'user', content: 'Hello.' }] });

/** A gateway whose machine has an agent and no engine. */
const AGENT = { AGENT: 'true', AGENT_PORTS: '0', ENGINE_URL: 'http://127.0.0.1:1' };

test('status says what can serve, and its exit code whether anything can', async () => {
  const upstream = await startUpstream(answers('Hi.'));
  const { run, url } = await startRunning({ HOSTED_A_BASE_URL: upstream.url });
  const { code, stdout, stderr } = await run('status');
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toContain(`Dashboard: http://127.0.0.1:${new URL(url).port}\n`);
  expect(stdout).toMatch(/hosted_a +untested .*http:\/\/127\.0\.0\.1/);
  expect(stdout).not.toContain('hosted_b');
  const json = JSON.parse((await run('status', '--json')).stdout) as { status: StatusReport };
  expect(json).toMatchObject({ status: { ok: true }, agent: null });

  const empty = await (await startRunning()).run('status');
  expect([empty.code, empty.stdout]).toEqual([1, expect.stringContaining('Nothing is configured')]);
});

test('keys add prints a key once; it works until it is revoked, also after a restart', async () => {
  const upstream = await startUpstream(answers('Hi.'));
  const settings = { LOCAL_ENGINE_URL: upstream.url };
  const { run, host, url, DATA_DIR } = await startRunning(settings);
  const models = async (at: string, token: string) =>
    (await fetch(`${at}/v1/models`, { headers: bearer(token) })).status;
  const add = async () => {
    const { code, stdout, stderr } = await run('keys', 'add', 'laptop');
    expect([code, stderr]).toEqual([0, expect.stringContaining('shown once')]);
    expect(stdout).toMatch(/^sy-[0-9a-f]{64}\n$/);
    const key = stdout.trim();
    expect([await models(url, key), await models(url, 'none')]).toEqual([200, 401]);
    return key;
  };
  const open = 'any app on this machine can use the gateway';
  expect((await run('keys', 'list')).stdout).toContain(open);
  const revoked = await add();
  const twice = await run('keys', 'add', 'laptop');
  expect([twice.code, twice.stderr]).toEqual([1, expect.stringContaining('already')]);
  expect(await run('keys', 'revoke', 'laptop')).toMatchObject({ code: 0 });
  expect(await models(url, 'none')).toBe(200);
  const key = await add();
  const { stdout } = await run('keys', 'list');
  expect(stdout).toMatch(/^laptop {2}created \S+Z {2}last used \S+Z\n$/);
  expect(stdout).not.toContain(key);
  expect(await run('keys', 'add')).toMatchObject({ code: 2 });

  await host.stop();
  const again = await startIn(DATA_DIR, settings);
  expect([await models(again.url, key), await models(again.url, revoked)]).toEqual([200, 401]);
});

test('models lists what apps can ask for', async () => {
  const { run } = await startRunning({
    HOSTED_A_BASE_URL: 'http://127.0.0.1:1',
    HOSTED_A_MODEL: 'big-one',
    HOSTED_A_LABEL: 'mine',
  });
  const { code, stdout } = await run('models');
  expect([code, stdout]).toEqual([0, 'auto          inglenook\nmine/big-one  hosted_a\n']);
  const { data } = JSON.parse((await run('models', '--json')).stdout) as { data: object[] };
  expect(data).toMatchObject([{ id: 'auto' }, { id: 'mine/big-one', owned_by: 'hosted_a' }]);
});

test('status says why a circuit is open, by its own cause, and reset closes it; an unknown id is refused', async () => {
  const clock = createManualClock();
  const slow: Script = (call) => {
    clock.advance(8000);
    return answers('At last.')(call);
  };
  const upstream = await startUpstream(error(504), error(504), error(504), slow);
  const settings = { HOSTED_A_BASE_URL: upstream.url, FAIL_THRESHOLD: '2' };
  const { run, url } = await startRunning({ ...settings, TTFT_SLOW_THRESHOLD: '1' }, clock);
  const line = async () => /hosted_a +(.*)/.exec((await run('status')).stdout)?.[1];
  await say(url);
  await say(url);
  expect(await line()).toBe('keeps failing, skipped for 1 min (http_504: HTTP 504)');
  const reset = await run('reset', 'hosted_a');
  expect([reset.code, reset.stdout]).toEqual([0, 'hosted_a is called again.\n']);
  expect(await line()).toMatch(/^untested/);
  await say(url);
  await say(url);
  expect(await line()).toBe('was too slow, skipped for 1 min');
  const { code, stderr } = await run('reset', 'hosted_aa');
  expect([code, stderr]).toEqual([1, expect.stringContaining('hosted_aa')]);
});

test('a setting of another section is answered with its path, an unknown one with the place where all are listed, and an empty value with how to unset it', async () => {
  const { run } = await startRunning();
  const expected = [
    ['routing.forceZreo', 1, null],
    ['forceZero', 2, 'routing.forceZero'],
    ['rooting.forceZero', 1, 'routing.forceZero'],
    ['wrong.section.forceZero', 1, 'routing.forceZero'],
    ['routing', 2, null],
    // More than one section has this name.
    ['nowhere.apiKey', 1, null],
  ] as const;
  for (const [path, code, nearest] of expected) {
    const set = await run('set', path, 'true');
    const hint = nearest === null ? '.' : `. Did you mean "${nearest}"?`;
    const said = expect.stringContaining(`${hint} "inglenook get" lists them all.`) as unknown;
    expect([path, set.code, set.stderr]).toEqual([path, code, said]);
  }
  expect((await run('set', 'local.baseUrl', '')).stderr).toContain(
    'The value "default" unsets it.',
  );
});

test('a secret is set from standard input, so that it stands on no command line', async () => {
  const { DATA_DIR, run } = await startRunning();
  const child = spawnHere(DATA_DIR, [process.execPath, PROGRAM, 'set', 'hosted_a.apiKey', '-']);
  child.stdout.resume();
  child.stderr.resume();
  child.stdin.end(`sk-${'0123456789abcdef'.repeat(3)}\n`);
  expect(await once(child, 'close')).toEqual([0, null]);
  expect((await run('get', 'hosted_a.apiKey')).stdout).toMatch(/ = s\S+f \(set\)\n$/);
});

test('machines are added by a line, listed, verified again and removed', async () => {
  const gateway = await startRunning();
  const { run } = gateway;
  expect((await run('machines')).stdout).toContain('No machine has joined yet.');
  const added = await run('machines', 'add');
  const [, url = '', token = ''] = /join (\S+) ([0-9a-f]{64})/.exec(added.stdout) ?? [];
  expect(added.code).toBe(0);

  const machine = await startRunning(AGENT);
  expect(await machine.run('join', url, token, '--yes')).toMatchObject({ code: 0 });
  const listed = () => run('machines', 'list').then(({ stdout }) => stdout);
  await expect.poll(listed).toMatch(/^prv_[0-9a-f]{32} {2}/);
  const [id = ''] = (await listed()).split(' ');
  expect(await run('machines', 'verify', id)).toMatchObject({ code: 0 });
  const removed = await run('machines', 'remove', id);
  expect([removed.code, removed.stdout]).toEqual([0, `${id} is removed.\n`]);
  expect(await listed()).toContain('No machine has joined yet.');
  expect(await run('machines', 'remove', id)).toMatchObject({ code: 1 });
});

test('a setting that is read at the start is said to wait for the next one', async () => {
  const { run } = await startRunning();
  const later = 'This takes effect when the gateway restarts.';
  const { code, stdout, stderr } = await run('set', 'gateway.logLevel', 'debug');
  expect([code, stdout, stderr]).toEqual([0, 'gateway.logLevel = debug (set)\n', `${later}\n`]);
  expect((await run('set', 'routing.forceZero', 'true')).stderr).toBe('');
});

test('a budget of an upstream without prices is said to limit nothing, where it is set and by doctor', async () => {
  const settings = { HOSTED_A_LABEL: 'Groq', LOCAL_ENGINE_URL: 'http://127.0.0.1:1' };
  const { run } = await startRunning(settings);
  const fault = 'Groq has no price, so its requests count as 0 and never use up its budget.';
  const remedy = 'Set hosted_a.priceInput and hosted_a.priceOutput.';
  expect((await run('set', 'hosted_a.budgetDay', '2')).stderr).toBe(`${fault} ${remedy}\n`);
  expect((await run('doctor')).stdout).toContain(`budget (hosted_a): ${fault}\n  ${remedy}`);
  expect((await run('set', 'hosted_b.budgetDay', '0')).stderr).toBe('');
  expect((await run('set', 'hosted_a.priceInput', '0.15')).stderr).toBe('');
  expect((await run('doctor')).stdout).not.toContain('no price');
});

test('every command with --json prints JSON and nothing else on standard output', async () => {
  const upstream = await startUpstream(answers('Hi.'));
  const settings = { HOSTED_A_BASE_URL: upstream.url, ...AGENT };
  const { run, url, DATA_DIR } = await startRunning(settings);
  await say(url);
  await requestLogged(DATA_DIR);
  const lines =
    `status, open, models, get, get agent.host, set routing.forceZero false, keys add laptop,
    keys limit laptop --tokens-day 5, keys list, keys revoke laptop, machines, machines add, reset local, pause, drain, resume, leave,
    doctor, logs -n 1, service status, service install --print`.split(/,\s+/);
  const wrong: string[] = [];
  for (const line of lines) {
    const { stdout } = await run(...line.split(' '), '--json');
    if (parseJson(stdout) === undefined) wrong.push(`${line}: ${stdout}`);
  }
  expect(wrong).toEqual([]);
  for (const line of ['get nothing', 'keys revoke nobody', 'reset nothing']) {
    const { code, stdout, stderr } = await run(...line.split(' '), '--json');
    expect([line, code, stdout]).toEqual([line, 1, '']);
    expect(stderr).not.toBe('');
  }
});

test('doctor prints how the gateway here has verified this machine, and what its agent lacks', async () => {
  const { run } = await startRunning(AGENT);
  await expect
    .poll(async () => (await run('doctor')).stdout)
    .toMatch(/^The gateway here says about this machine: \w+\.\n/);
  const { code, stdout } = await run('doctor');
  expect([code, stdout]).toEqual([1, expect.stringContaining('engine (http://127.0.0.1:1)')]);
  expect(stdout).toContain('It is unreachable.\n  Start it, or correct agent.engineUrl.');
  const json = JSON.parse((await run('doctor', '--json')).stdout) as object;
  const problems = expect.arrayContaining([expect.objectContaining({ tool: 'engine' })]) as unknown;
  expect(json).toMatchObject({ ok: false, gateway: null, problems });
});

test.each([
  ['a machine without a GPU', AGENT, 'serves.'],
  ['a machine without an agent', { AGENT: 'false' }, 'agent of this machine is switched off'],
])('doctor passes on %s whose gateway has an engine that serves', async (_where, agent, note) => {
  const engine = await startUpstream(answers('Hi.'));
  const { run, url } = await startRunning({ LOCAL_ENGINE_URL: engine.url, ...agent });
  await say(url);
  const { code, stdout } = await run('doctor');
  expect([code, stdout]).toEqual([0, expect.stringContaining(note)]);
  expect(stdout).toContain(`${engine.url} (local.baseUrl), which serves.`);
  expect(stdout).not.toContain('GPU count');
  await engine.close();
  await say(url);
  expect((await run('doctor')).code).toBe(1);
});

/** What the agent says of itself: its engine is well, and it reports there. */
const viewOf = (registry: object) => ({
  id: 'prv_1',
  registry: { state: 'connected', ...registry },
  engine: { baseUrl: 'http://127.0.0.1:1', health: { status: 'ok', code: 200 } },
  useEngineDirectly: null,
  problems: [],
});

test('doctor does not call an address failed if another one works, nor a check that was not run', async () => {
  const DATA_DIR = temporaryDirectory();
  const checks = [
    { name: 'health', passed: false, detail: 'GET http://tower:3001', error: 'HTTP 403' },
    { name: 'health', passed: true, detail: 'GET http://127.0.0.1:3001' },
    { name: 'GPU count >0', passed: false, error: 'none' },
    { name: 'latency <10s', passed: false, error: 'check missing' },
  ];
  const view = viewOf({ kind: 'own', url: null, standing: null });
  const machine = { verification: { status: 'failed', checks } };
  await startStandIn(DATA_DIR, (req, res) => {
    const pages = new Map<unknown, object>([
      ['/api/v1/agent', view],
      ['/api/v1/snapshot', { status: { upstreams: [] } }],
    ]);
    res.end(JSON.stringify(pages.get(req.url) ?? machine));
  });
  expect((await sayHere({ DATA_DIR }, 'doctor')).stdout).toContain(`failed.
  --   health: GET http://tower:3001: HTTP 403
  ok   health: GET http://127.0.0.1:3001
FAILED GPU count >0: none
  --   latency <10s: not run
`);
});

test('doctor tells what the gateway that was joined last said, check by check', async () => {
  const DATA_DIR = temporaryDirectory();
  const failure_reason = 'engine_health ok: error; GPU count >0: none';
  const standing = { status: 'idle', verification: { status: 'failed', failure_reason } };
  const view = viewOf({ kind: 'joined', url: 'http://tower', standing });
  const asked: (string | undefined)[] = [];
  await startStandIn(DATA_DIR, (req, res) => {
    asked.push(req.url);
    res.end(JSON.stringify(view));
  });
  expect(await sayHere({ DATA_DIR }, 'doctor')).toEqual({
    code: 1,
    stdout: `The gateway at http://tower says about this machine: failed.
FAILED engine_health ok: error
FAILED GPU count >0: none

The agent knows of no problem.
`,
    stderr: '',
  });
  expect(asked).toEqual(['/api/v1/agent']);
});

test('logs prints the last lines for people, or as they are', async () => {
  const upstream = await startUpstream(answers('Hi.'));
  const { url, run, DATA_DIR } = await startRunning({ HOSTED_A_BASE_URL: upstream.url });
  await say(url);
  await requestLogged(DATA_DIR);
  const { code, stdout } = await run('logs', '-n', '1');
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^\S+Z info {2}request id=req_\w+ endpoint=chat\/completions model=null stream=false state=done upstream=hosted_a status=200 fallbackReason=\S+ firstContentMs=\d+ ms=\d+ inputTokens=\d+ outputTokens=\d+ tokensEstimated=true\n$/,
  );
  const json = JSON.parse((await run('logs', '-n', '1', '--json')).stdout) as object;
  expect(json).toMatchObject({ event: 'request', upstream: 'hosted_a', status: 200 });
  expect(await run('logs', '-n', 'x')).toMatchObject({ code: 2 });
});

test('logs -f continues over a rotation, whether a gateway runs or not', async () => {
  const DATA_DIR = temporaryDirectory();
  const none = await sayHere({ DATA_DIR }, 'logs', '-f');
  expect(none.code).toBe(1);
  expect(none.stderr).toMatch(/^There is no log file .*journalctl/);

  const log = writeLog(DATA_DIR);
  const cli = startCli({ DATA_DIR }, 'logs', '-f');
  await cli.printed(/stopped/);
  appendFileSync(log, 'first, half of the ');
  appendFileSync(log, 'line\n');
  await cli.printed(/first, half of the line\n/);
  renameSync(log, `${log}.1`);
  writeFileSync(log, '{"time":"t","level":"info","event":"after the rotation"}\n');
  await cli.printed(/t info {2}after the rotation\n/);
  cli.kill('SIGINT');
  await cli.ended;
});

test('the command logs says where the running gateway logs if its file holds only an earlier log', async () => {
  const DATA_DIR = temporaryDirectory();
  const log = writeLog(DATA_DIR);
  const run = () => sayHere({ DATA_DIR }, 'logs', '--json');
  expect(await run()).toMatchObject({ code: 0, stderr: '' });
  await startStandIn(DATA_DIR, (_req, res) => void res.end());
  utimesSync(log, 1, 1);
  const { code, stdout, stderr } = await run();
  expect([code, stderr]).toEqual([0, expect.stringContaining('does not write')]);
  expect(stderr).toContain('journalctl');
  expect(stdout).toMatch(/"event":"stopped"\}\n$/);
  appendFileSync(log, '{"time":"t","level":"info","event":"started"}\n');
  expect(await run()).toMatchObject({ code: 0, stderr: '' });
});

test('a command ends quietly when nobody reads its output any more', async () => {
  const { DATA_DIR } = await startRunning();
  const child = spawnHere(DATA_DIR, [process.execPath, PROGRAM, 'get', '--json']);
  child.stdout.destroy();
  const said = text(child.stderr);
  const [code] = (await once(child, 'close')) as [number];
  expect([code, await said]).toEqual([0, '']);
});

test('output without a terminal has no colour and no progress, and NO_COLOR holds on one', async () => {
  const { DATA_DIR } = await startRunning();
  const colored = async (env: Record<string, string>) => {
    const variables = { INGLENOOK_DATA_DIR: DATA_DIR, ...env };
    return (await startProgram(variables, 'status').ended).stdout.includes('\u001B[');
  };
  expect(await colored({})).toBe(false);
  expect(await colored({ FORCE_COLOR: '1' })).toBe(true);
  expect(await colored({ NO_COLOR: '1' })).toBe(false);
});

test('leave ends what join began, whether the machine runs or not', async () => {
  const gateway = await startRunning();
  const { joinToken } = controlOf({ url: gateway.url, dataDirectory: gateway.DATA_DIR });
  const joinGateway = async (run: typeof gateway.run) => {
    const token = await joinToken();
    expect(await run('join', gateway.url, token, '--yes')).toMatchObject({ code: 0 });
  };
  const left = `Left ${gateway.url}. To remove this machine from its list, use "Remove" in its dashboard.\n`;
  const none = 'This machine has not joined another gateway.\n';

  const DATA_DIR = temporaryDirectory();
  const alone = (...args: readonly string[]) => sayHere({ DATA_DIR, AGENT: 'true' }, ...args);
  await joinGateway(alone);
  expect((await alone('leave')).stdout).toBe(left);
  expect((await alone('leave')).stdout).toBe(none);

  const { run } = await startRunning(AGENT);
  await joinGateway(run);
  expect((await run('leave')).stdout).toBe(left);
  expect((await run('leave')).stdout).toBe(none);
});

const HAS_TERMINAL =
  process.platform === 'linux' && spawnSync('script', ['--version']).error === undefined;

test.runIf(HAS_TERMINAL)(
  'output on a terminal has colours, and long work shows that it runs',
  async () => {
    const { DATA_DIR, url } = await startRunning();
    const seen = async (command: string, env: Record<string, string> = {}) => {
      const line = `${process.execPath} ${PROGRAM} ${command}`;
      const typed = ['script', '-qec', line, '/dev/null'];
      const child = spawnHere(DATA_DIR, typed, { TERM: 'xterm', ...env });
      child.stdin.end();
      return text(child.stdout);
    };
    const red = '\u001B[31m';
    expect(await seen('status')).toContain(red);
    expect(await seen('status', { NO_COLOR: '1' })).not.toContain(red);
    const joining = await seen(`join ${url} ${'0f'.repeat(32)}`);
    expect(joining).toContain(`Joining ${url}…`);
  },
);

test.runIf(process.platform === 'linux')(
  'a gateway whose log goes to a full disk keeps running, and stops with success',
  async () => {
    const DATA_DIR = temporaryDirectory();
    const settings = asVariables({ DATA_DIR, PORT: '0', LOG_TO: 'stderr', AGENT: 'false' });
    const line = ['sh', '-c', 'exec "$@" 2>/dev/full', 'sh', process.execPath, PROGRAM];
    const cli = spawnProgram(line, { PATH: process.env['PATH'], ...settings });
    const url = await cli.printed(/Dashboard: (\S+?)\/#/);
    // Each of these is a line of the log.
    for (let each = 0; each < 3; each += 1) await postJson(`${url}/v1/chat/completions`, {});
    cli.kill('SIGTERM');
    expect(await cli.ended).toMatchObject({ code: 0 });
  },
);

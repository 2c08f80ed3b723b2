import { expect, test } from 'vitest';
import { stateLine } from '../../main/cli/owner-commands.ts';
import { agentView, owner as ownerOf } from '../renderer/agent-builders.ts';
import { startScripted } from '../agent/memory/scripted-engines.ts';
import { controlOf } from '../support/control.ts';
import { sayHere, startOwned } from '../support/owned-gateway.ts';

/** A gateway with an agent, and the command line beside it. */
async function startMachine(settings: Readonly<Record<string, string>> = {}) {
  const { dataDirectory, url } = await startOwned({
    AGENT: 'true',
    AGENT_PORTS: '0',
    ENGINE_URL: 'http://127.0.0.1:1',
    ...settings,
  });
  const { agent } = controlOf({ url, dataDirectory });
  return {
    run: async (...args: readonly string[]) => {
      const { code, stdout, stderr } = await sayHere({ DATA_DIR: dataDirectory }, ...args);
      return [code, stdout, stderr];
    },
    owner: async () => (await agent()).owner,
    models: async () => (await agent()).models.map(({ id }) => id),
  };
}

const done = (line: string) => [0, `${line}\n`, ''];
const refused = (words: RegExp) => [1, '', expect.stringMatching(words)];

test('the commands pause, drain and resume print the state that follows, set, get and default what is set, never a secret, and the gateway’s objections in its own words', async () => {
  const key = 'sk-very-secret-key-0123456789';
  const { run, owner } = await startMachine({
    HOSTED_A_API_KEY: key,
    AGENT_YIELD_TO_OTHERS: 'true',
  });
  expect(await run('pause')).toEqual(done('held back: Its owner holds it back.'));
  expect(await owner()).toMatchObject({ choice: 'paused', mode: 'paused' });
  expect(await run('drain')).toEqual(
    done('held back: Its owner lets running requests finish and takes no new ones.'),
  );
  expect(await owner()).toMatchObject({ choice: 'drained' });
  expect(await run('resume')).toEqual(done('on: this machine takes requests.'));
  const heldRules = ['yieldToOthers'];
  expect(await owner()).toMatchObject({ choice: 'on', mode: 'on', heldRules });

  const path = 'agent.onlyWhenIdle';
  expect(await run('set', path, 'true')).toEqual(done(`${path} = true (set)`));
  expect((await owner()).rules['onlyWhenIdle']).toBe(true);
  expect(await run('get', path)).toEqual(done(`${path} = true (set)`));
  expect(await run('set', path, 'default')).toEqual(done(`${path} = false (default)`));
  expect((await owner()).rules['onlyWhenIdle']).toBe(false);
  const hosts = done('gateway.allowedHosts = a.test,b.test (set)');
  expect(await run('set', 'gateway.allowedHosts', 'a.test, b.test')).toEqual(hosts);
  expect(await run('get', 'gateway.allowedHosts')).toEqual(hosts);

  const [, section] = await run('get', 'circuit');
  expect(section).toMatch(/^(circuit\.\w+ = \d+ \(default\)\n){4}$/);
  const [code, all] = await run('get');
  expect([code, all]).toEqual([0, expect.stringContaining('agent.maxGpuTemperatureC = none')]);
  expect(all).toContain('hosted_a.apiKey = sk-…6789 (set by the environment)');
  expect(all).not.toContain(key);

  expect(await run('set', 'agent.maxGpuTemperatureC', '200')).toEqual([
    1,
    '',
    "'agent.maxGpuTemperatureC' must be a whole number from 30 to 120 (°C).\n",
  ]);
  expect(await run('set', 'agent.yieldToOthers', 'false')).toEqual(
    refused(/^'agent\.yieldToOthers' is set by INGLENOOK_AGENT_YIELD_TO_OTHERS; /),
  );
  expect(await run('set', 'agent.nonsense', '1')).toEqual(
    refused(/^There is no setting 'agent\.nonsense'\. "inglenook get" lists them all\.\n$/),
  );
  expect(await run('get', 'nonsense')).toEqual(refused(/"inglenook get" lists them all/));
});

test('a state in which requests still run says how many', () => {
  const drained = ownerOf('drained', 'draining', ['Its owner lets them finish.']);
  const view = agentView({ owner: drained, inFlight: 2 });
  expect(stateLine(view)).toBe('finishing (2 still running): Its owner lets them finish.');
});

test('an agent that is switched off takes no orders, and says how it comes back', async () => {
  const { run } = await startMachine({ AGENT: 'false' });
  expect(await run('drain')).toEqual(refused(/Set agent\.enabled \(INGLENOOK_AGENT\) to true/));
});

test('free, load and unload change the memory of an engine, and resume brings it back', async () => {
  const engine = await startScripted('ollama', ['small']);
  const { run, owner, models } = await startMachine({ ENGINE_URL: engine.url });
  await expect.poll(models).toContain('large');
  expect((await run('load', 'large'))[0]).toBe(0);
  expect([...engine.loaded]).toEqual(['small', 'large']);
  expect(await run('unload', 'small')).toEqual(done('small: unloaded.'));
  expect(await run('load', 'huge')).toEqual(
    refused(/^No engine of this machine offers "huge"\. Available: small, large\.\n$/),
  );
  const [code, text] = await run('free', '--for', '1h30m');
  expect([code, text]).toEqual([0, expect.stringMatching(/^freed until .*Unloaded: large\. /)]);
  expect([...engine.loaded]).toEqual([]);
  expect(await owner()).toMatchObject({ mode: 'paused', freed: { untilMs: expect.any(Number) } });
  const wrong = await run('free', '--for', 'ever');
  expect(wrong).toEqual([2, '', expect.stringMatching(/^"ever" is not a time/)]);
  expect((await run('resume'))[1]).toMatch(/^(on|held back): /);
  await expect.poll(async () => (await owner()).mode).toBe('on');
  expect([...engine.loaded]).toEqual(['large']);
});

test('memory that cannot be freed is reported with exit code 1', async () => {
  const engine = await startScripted('mlx', ['small']);
  const { run } = await startMachine({ ENGINE_URL: engine.url });
  const [code, text] = await run('free');
  expect([code, text]).toEqual([1, expect.stringMatching(/memory is still taken: mlx at /)]);
});

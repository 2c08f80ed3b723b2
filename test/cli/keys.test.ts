import { expect, test } from 'vitest';
import { runHere, startOwned } from '../support/owned-gateway.ts';

/** The command as its words are typed, over a gateway in this process: its text or its exit code. */
async function startKeys() {
  const { dataDirectory } = await startOwned({});
  const run = (line: string) => runHere(dataDirectory, `keys ${line}`);
  const keys = async (line: string) => {
    const outcome = await run(line);
    return outcome.kind === 'answer' ? outcome.text : outcome.exitCode;
  };
  return { run, keys };
}

test('keys limit sets and lifts limits, keys add takes them, and keys list shows them', async () => {
  const { keys } = await startKeys();
  expect(await keys('add laptop --tokens-month 5000000')).toMatch(/^sy-/);
  const limited = await keys('limit laptop --requests-day 1000');
  expect(limited).toBe('laptop: 0 of 1000 requests per day, 0 of 5000000 tokens per month');
  expect(await keys('list')).toMatch(/not used yet {2}0 of 1000 requests per day {2}0 of/);
  const lifted = await keys('limit laptop --requests-day none --tokens-month none');
  expect(lifted).toBe('laptop: no limit');
});

test('a command that sets no limit, or one for an action without limits, is refused', async () => {
  const { keys } = await startKeys();
  await keys('add laptop');
  for (const line of [
    'limit laptop',
    'limit laptop --requests-day 0',
    'limit laptop --requests-day 1.5',
    'limit laptop --tokens-day never',
    'revoke laptop --tokens-day 5',
    'list --tokens-day 5',
  ])
    expect([line, await keys(line)]).toEqual([line, 2]);
});

test('a key that does not exist is answered with the command that lists those that do', async () => {
  const { run } = await startKeys();
  for (const line of ['revoke nope', 'limit nope --tokens-day 5']) {
    expect(await run(line)).toMatchObject({
      kind: 'failed',
      message: 'There is no key named "nope"; "inglenook keys list" lists them.',
      exitCode: 1,
    });
  }
});

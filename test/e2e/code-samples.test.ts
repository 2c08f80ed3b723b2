import { execFile } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { codeSamples } from '../../renderer/features/requests/code-samples.ts';
import { startDemo } from '../support/demo.ts';
import { temporaryDirectory } from '../support/gateway.ts';

const run = promisify(execFile);

const CASES = ['chat/completions', 'responses', 'messages', 'embeddings'].flatMap((endpoint) =>
  [true, false].map((stream) => ({ endpoint, stream })),
);

/** A name that would end quotes, where they were not kept. */
const MODEL = `it's "demo" $(id) \`id\` \\model`;

async function samplesFor(given: (typeof CASES)[number]) {
  const { baseUrl } = await startDemo();
  // Embeddings of one model are no use for another, so that one is never replaced.
  const model = given.endpoint === 'embeddings' ? 'demo-model' : MODEL;
  const samples = codeSamples({ ...given, baseUrl, model, needsKey: false });
  if (samples === null) throw new Error(`${given.endpoint} has no samples`);
  return samples;
}

describe.each(CASES)('a request to $endpoint, streamed: $stream', (given) => {
  test(`the sample in curl for ${given.endpoint}, streamed: ${given.stream}, is answered`, async () => {
    const { curl } = await samplesFor(given);
    const { stdout } = await run('sh', ['-c', curl.replace('curl', 'curl -sf')]);
    expect(stdout).toMatch(given.endpoint === 'embeddings' ? /"embedding":/ : /demo/i);
  });

  test(`the sample in TypeScript for ${given.endpoint}, streamed: ${given.stream}, runs as it is and shows the answer`, async () => {
    const { typescript } = await samplesFor(given);
    const directory = temporaryDirectory();
    symlinkSync(join(import.meta.dirname, '../../node_modules'), join(directory, 'node_modules'));
    const file = join(directory, 'sample.mts');
    writeFileSync(file, typescript);
    const { stdout } = await run(process.execPath, [file]);
    expect(stdout).toMatch(given.endpoint === 'embeddings' ? /^\d+\n$/ : /demo/i);
  });
});

test('an endpoint that needs more than a question has no sample', () => {
  const sampled = { baseUrl: 'http://x/v1', model: null, stream: false, needsKey: false };
  expect(codeSamples({ ...sampled, endpoint: 'audio/transcriptions' })).toBe(null);
});

test('a sample with a key names its variable, and one in curl without a model names none', () => {
  const sampled = { baseUrl: 'http://x/v1', model: null, stream: false, needsKey: true };
  const samples = codeSamples({ ...sampled, endpoint: 'chat/completions' });
  expect(samples?.curl).toContain('Bearer $SWITCHYARD_API_KEY');
  expect(samples?.curl).not.toContain('"model"');
  expect(samples?.python).toContain('os.environ["SWITCHYARD_API_KEY"]');
  expect(samples?.typescript).toContain('process.env.SWITCHYARD_API_KEY,');
});

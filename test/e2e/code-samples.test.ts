import { execFile } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { codeSamples } from '../../renderer/features/requests/code-samples.ts';
import { startDemo } from '../support/demo.ts';
import { temporaryDirectory } from '../support/gateway.ts';

const run = promisify(execFile);

const CASES = ['chat/completions', 'responses', 'messages', 'embeddings'].flatMap((endpoint) =>
  [true, false].map((stream) => ({ endpoint, stream })),
);

/** A name that would end quotes, where they were not kept. */
const MODEL = `it's "demo" $(id) \`id\` \\model`;

test('each sample in curl and TypeScript runs as it is and shows the answer', async () => {
  const { baseUrl } = await startDemo();
  const directory = temporaryDirectory();
  symlinkSync(join(import.meta.dirname, '../../node_modules'), join(directory, 'node_modules'));
  const typed: string[] = [];
  for (const [index, given] of CASES.entries()) {
    const isEmbedding = given.endpoint === 'embeddings';
    // Embeddings of one model are no use for another, so that one is never replaced.
    const model = isEmbedding ? 'demo-model' : MODEL;
    const samples = codeSamples({ ...given, baseUrl, model, needsKey: false });
    const curl = samples?.curl.replace('curl', 'curl -sf') ?? '';
    const { stdout } = await run('sh', ['-c', curl]);
    expect([given, stdout]).toEqual([
      given,
      expect.stringMatching(isEmbedding ? /"embedding":/ : /demo/i),
    ]);
    writeFileSync(join(directory, `sample-${index}.mts`), samples?.typescript ?? '');
    typed.push(`await import('./sample-${index}.mts'); console.log('\\n--');`);
  }
  // In one process, as each would load the clients again.
  const file = join(directory, 'samples.mts');
  writeFileSync(file, typed.join('\n'));
  const { stdout } = await run(process.execPath, [file]);
  const shown = stdout.split('\n--\n');
  for (const [index, given] of CASES.entries()) {
    const answer = given.endpoint === 'embeddings' ? /^\d+\n$/ : /demo/i;
    expect([given, shown[index]]).toEqual([given, expect.stringMatching(answer)]);
  }
});

test('an endpoint that needs more than a question has no sample', () => {
  const sampled = { baseUrl: 'http://x/v1', model: null, stream: false, needsKey: false };
  expect(codeSamples({ ...sampled, endpoint: 'audio/transcriptions' })).toBe(null);
});

test('a sample with a key names its variable, and one in curl without a model names none', () => {
  const sampled = { baseUrl: 'http://x/v1', model: null, stream: false, needsKey: true };
  const samples = codeSamples({ ...sampled, endpoint: 'chat/completions' });
  expect(samples?.curl).toContain('Bearer $INGLENOOK_API_KEY');
  expect(samples?.curl).not.toContain('"model"');
  expect(samples?.python).toContain('os.environ["INGLENOOK_API_KEY"]');
  expect(samples?.typescript).toContain('process.env.INGLENOOK_API_KEY,');
});

import { describe, expect, test } from 'vitest';
import { chat } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import { answers, startUpstream } from '../support/upstream.ts';
import { llamaServer } from './find-server.ts';
import { startLlamaProcess } from './llama-server.ts';

/*
 * A real llama.cpp as the fixed engine, without an agent, in real time. Run where a llama-server is on the path, or
 * where INGLENOOK_TEST_LLAMA_SERVER says; skipped elsewhere.
 */

const SERVER = llamaServer();
const WHY = SERVER === null ? ' (skipped: no llama-server, see INGLENOOK_TEST_LLAMA_SERVER)' : '';
const TEXT = { cycle: [' ka', ' lo', ' mi'], trims: false };

describe.skipIf(SERVER === null)(`a fixed real engine${WHY}`, () => {
  test('a real engine as a fixed upstream, once stopped, keeps a request 25 s at most, and is used again later', async () => {
    const llama = await startLlamaProcess(SERVER ?? '', TEXT);
    const hosted = await startUpstream(answers('paid'));
    const { url, host } = await startGateway({
      LOCAL_ENGINE_URL: llama.url,
      HOSTED_A_BASE_URL: hosted.url,
    });
    const isKnown = () => host.snapshot().status.config.models['local'] !== null;
    await expect.poll(isKnown, { timeout: 10_000 }).toBe(true);
    llama.signal('SIGSTOP');
    const began = performance.now();
    const answer = await chat(url);
    const keptMs = performance.now() - began;
    expect([answer.upstream, answer.reason]).toEqual(['hosted_a', 'local=timeout']);
    expect(keptMs).toBeLessThan(25_000);
    llama.signal('SIGCONT');
    expect((await chat(url)).upstream).toBe('local');
  });
});

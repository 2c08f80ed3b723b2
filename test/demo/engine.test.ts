import { expect, onTestFinished, test } from 'vitest';
import { cannedAnswer, createDemoEngine, DEMO_MODEL, PACE } from '../../main/demo/engine.ts';
import { startCall } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import { STREAM_PROTOCOLS, WHOLE_PROTOCOLS } from '../support/protocols.ts';

async function startDemo(fault: 'none' | 'cut' = 'none') {
  const engine = createDemoEngine('hosted_a', { pace: { ...PACE, wordMs: 2 } });
  await engine.start();
  onTestFinished(() => engine.stop());
  await engine.setFault(fault);
  return startGateway({
    HOSTED_A_BASE_URL: `${engine.url()}/v1`,
    HOSTED_A_MODEL: DEMO_MODEL,
    RESUME: 'off',
  });
}

test.each(WHOLE_PROTOCOLS)('the demo’s upstreams serve $name', async ({ path, body }) => {
  const { url } = await startDemo();
  const asked = startCall(url + path, { ...body, model: DEMO_MODEL });
  expect(await asked.answer).toMatchObject({ status: 200, upstream: 'hosted_a' });
});

test.each(STREAM_PROTOCOLS)('a cut answer of $name never looks complete', async (protocol) => {
  const { path, body, endMark } = protocol;
  const { url } = await startDemo('cut');
  const { text } = await startCall(url + path, { ...body, stream: true }).answer;
  expect(text).toContain('upstream_bad_response');
  expect(text).not.toContain(endMark);
});

test('the demo answers speech with a WAV file, and a transcription with a text', async () => {
  const { url } = await startDemo();
  const speech = startCall(`${url}/v1/audio/speech`, { model: DEMO_MODEL, input: 'hi' });
  expect((await speech.answer).text.slice(0, 4)).toBe('RIFF');
  const form = '--x\r\ncontent-disposition: form-data; name="file"\r\n\r\na\r\n--x--\r\n';
  const type = { 'content-type': 'multipart/form-data; boundary=x' };
  const heard = await startCall(`${url}/v1/audio/transcriptions`, form, type).answer;
  expect(JSON.parse(heard.text)).toEqual({ text: cannedAnswer('hosted_a') });
});

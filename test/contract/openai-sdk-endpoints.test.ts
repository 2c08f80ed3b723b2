import { OpenAI, toFile } from 'openai';
import { describe, expect, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { eventsOf, STREAM_PROTOCOLS } from '../support/protocols.ts';
import { placedAt } from '../support/speakers.ts';
import { json, sse, startUpstream, type Script } from '../support/upstream.ts';

// The `openai` package, unmodified, on the endpoints beside chat completions.

/** A client of a gateway whose `local`, or `hosted_a` with a key, is scripted. */
async function startAt(place: 'local' | 'hosted_a', script: Script) {
  const upstream = await startUpstream(script);
  const { url } = await startGateway(placedAt(place, upstream.url));
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'of-the-caller', maxRetries: 0 });
  const key = place === 'local' ? 'Bearer of-the-caller' : 'Bearer sk-hosted';
  return { upstream, client, key };
}

const COMPLETIONS = STREAM_PROTOCOLS.find(({ name }) => name === 'completions');
if (COMPLETIONS === undefined) throw new Error('no completions');
const EVENTS = eventsOf(COMPLETIONS);

describe.each(['local', 'hosted_a'] as const)('OpenAI’s client through %s', (place) => {
  test(`a completion comes through ${place}, plain and streamed`, async () => {
    const answer = json(200, { choices: [{ index: 0, text: 'mid', finish_reason: 'stop' }] });
    const { upstream, client, key } = await startAt(place, answer);
    const ask = { model: 'm', prompt: 'a', suffix: 'c' };
    expect((await client.completions.create(ask)).choices[0]?.text).toBe('mid');
    expect(upstream.calls[0]).toMatchObject({ path: '/v1/completions', json: ask });
    expect(upstream.calls[0]?.headers.authorization).toBe(key);
    upstream.script = sse(...EVENTS);
    const texts: string[] = [];
    for await (const part of await client.completions.create({ ...ask, stream: true })) {
      texts.push(part.choices[0]?.text ?? '');
    }
    expect(texts.join('')).toBe('ab [DONE] ');
  });

  test(`embeddings come through ${place} in the client’s own coding`, async () => {
    const base64 = Buffer.from(new Float32Array([0.25, -1]).buffer).toString('base64');
    const list = { object: 'list', data: [{ index: 0, embedding: base64 }], model: 'm' };
    const { upstream, client } = await startAt(place, json(200, list));
    const { data } = await client.embeddings.create({ model: 'm', input: ['a'] });
    expect(data[0]?.embedding).toEqual([0.25, -1]);
    expect(upstream.calls[0]?.path).toBe('/v1/embeddings');
  });

  test(`speech comes through ${place} as bytes`, async () => {
    const audio = Buffer.from([0, 255, 1, 254]);
    const script: Script = ({ res }) =>
      void res.writeHead(200, { 'content-type': 'audio/mpeg' }).end(audio);
    const { upstream, client } = await startAt(place, script);
    const ask = { model: 'tts-1', voice: 'alloy', input: 'hi' } as const;
    const answer = await client.audio.speech.create(ask);
    expect(Buffer.from(await answer.arrayBuffer())).toEqual(audio);
    expect(upstream.calls[0]?.path).toBe('/v1/audio/speech');
  });

  test(`a transcription of a file comes through ${place}`, async () => {
    const { upstream, client, key } = await startAt(place, json(200, { text: 'spoken' }));
    const file = await toFile(Buffer.from([82, 73, 70, 70, 0, 255]), 'a.wav');
    const { text } = await client.audio.transcriptions.create({ model: 'whisper-1', file });
    expect(text).toBe('spoken');
    const [call] = upstream.calls;
    expect(call?.headers['content-type']).toMatch(/^multipart\/form-data; boundary=/);
    expect(call?.headers.authorization).toBe(key);
    expect(call?.body.includes(Buffer.from([82, 73, 70, 70, 0, 255]))).toBe(true);
  });
});

import type { UpstreamId } from '#shared/ids.ts';
import { isObject } from '#shared/objects.ts';
import { listOf, parseJson } from '../platform/json.ts';
import { cannedAnswer, DEMO_MODEL } from './answers.ts';

export interface DemoBody {
  readonly type: string;
  readonly bytes: Buffer;
}

/** The answer of a demo engine on a path without streams; null for an unknown path. */
export function demoBody(path: string, request: Buffer, id: UpstreamId): DemoBody | null {
  switch (path.replace(/^.*\/v1/, '')) {
    case '/embeddings':
      return json({ object: 'list', model: DEMO_MODEL, data: vectors(fieldsOf(request)['input']) });
    case '/rerank':
      return json({ model: DEMO_MODEL, results: ranks(fieldsOf(request)['documents']) });
    case '/messages/count_tokens':
      return json({ input_tokens: request.toString().split(/\s+/).length });
    case '/audio/transcriptions':
      return json({ text: cannedAnswer(id) });
    case '/audio/speech':
      return { type: 'audio/wav', bytes: tone() };
    default:
      return null;
  }
}

const json = (value: object): DemoBody => ({
  type: 'application/json',
  bytes: Buffer.from(JSON.stringify(value)),
});

function fieldsOf(request: Buffer): Readonly<Record<string, unknown>> {
  const body = parseJson(request.toString());
  return isObject(body) ? body : {};
}

/** Eight numbers that depend only on the text. */
function vectors(input: unknown): object[] {
  const texts = Array.isArray(input) ? (input as readonly unknown[]) : [input];
  return texts.map((text, index) => {
    const bytes = Buffer.from(JSON.stringify(text) ?? '');
    const embedding = Array.from({ length: 8 }, (_, at) => ((bytes[at] ?? 0) - 64) / 128);
    return { object: 'embedding', index, embedding };
  });
}

function ranks(documents: unknown): object[] {
  return listOf(documents).map((_, index) => ({ index, relevance_score: 1 / (index + 1) }));
}

const SAMPLE_RATE = 8000;
const HEAD_BYTES = 44;

/** One second of 440 Hz, as a WAV file of 8-bit samples. */
function tone(): Buffer {
  const wav = Buffer.alloc(HEAD_BYTES + SAMPLE_RATE);
  wav.write('RIFF', 0);
  wav.writeUInt32LE(wav.length - 8, 4);
  wav.write('WAVEfmt ', 8);
  wav.writeUInt32LE(16, 16);
  wav.writeUInt16LE(1, 20);
  wav.writeUInt16LE(1, 22);
  wav.writeUInt32LE(SAMPLE_RATE, 24);
  wav.writeUInt32LE(SAMPLE_RATE, 28);
  wav.writeUInt16LE(1, 32);
  wav.writeUInt16LE(8, 34);
  wav.write('data', 36);
  wav.writeUInt32LE(SAMPLE_RATE, 40);
  for (let at = 0; at < SAMPLE_RATE; at += 1) {
    wav[HEAD_BYTES + at] = 128 + Math.round(90 * Math.sin((at * 440 * 2 * Math.PI) / SAMPLE_RATE));
  }
  return wav;
}

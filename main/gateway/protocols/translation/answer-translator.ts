import type { HttpError } from '../../../platform/http/responses.ts';
import { isHeavyJson, isObject, parseJson } from '../../../platform/json.ts';
import { ChunkRepair } from '../chat/chunks.ts';
import type { BegunBlocks } from '../messages/events.ts';
import { dataOf, eventsOf, type TypedEvent, typedEvent } from '../sse.ts';
import { type AnswerState, readChatAnswer } from './chat-answer.ts';
import type {
  AnswerSteps,
  DroppedFields,
  ProtocolTranslation,
  StreamTranslator,
  TranslatedExchange,
} from './translation.ts';

/** About 200,000 events of one token each; the last event repeats the whole answer. */
const MAX_STREAM_BYTES = 64 * 1024 * 1024;

const TOO_MANY_VALUES = 'an answer of too many values';
const TOO_LONG = `The upstream sent over ${MAX_STREAM_BYTES} bytes.`;
const NO_FINISH = 'The upstream ended its answer without a finish reason.';
const COLON = 0x3a;

/** Turns the answer to a chat completion into the caller's protocol. */
export type AnswerTranslator = ReturnType<typeof createAnswerTranslator>;

/** @param dropped what the request lost on its way */
export function createAnswerTranslator(
  translation: ProtocolTranslation,
  exchange: TranslatedExchange,
  dropped: DroppedFields,
) {
  return {
    dropped,
    /** @param begun of a message that broke off: only its rest is made */
    createStream: (begun: BegunBlocks | null = null) =>
      createStream(new AnswerEvents(translation, exchange, begun)),
    /** A whole chat completion as a whole answer, or as all events of a stream. */
    whole(completion: Buffer, asStream: boolean) {
      const parsed = parseJson(completion.toString('utf8'));
      // Its syntax was checked as it arrived, so it is too heavy to be parsed.
      if (parsed === undefined) return { kind: 'bad', detail: TOO_MANY_VALUES } as const;
      const chunk = isObject(parsed) ? new ChunkRepair().take(parsed) : parsed;
      const answer = new AnswerEvents(translation, exchange, null);
      answer.add(chunk);
      answer.end();
      if (answer.ended !== 'complete')
        return { kind: 'bad', detail: 'an answer that cannot be translated' } as const;
      const events = answer.taken();
      const text = asStream ? textOf(events) : JSON.stringify(translation.wholeOf(events));
      return { kind: 'answer', body: Buffer.from(text) } as const;
    },
  };
}

const textOf = (events: readonly TypedEvent[]): string => events.map(typedEvent).join('');

function createStream(answer: AnswerEvents): StreamTranslator {
  let bytes = 0;

  function told(event: Buffer): string {
    const data = dataOf(event)?.trim() ?? '';
    // A comment keeps the caller's connection alive as it did ours.
    if (data === '') return event[0] === COLON ? event.toString('utf8') : '';
    const chunk = data === '[DONE]' ? undefined : parseJson(data);
    if (chunk !== undefined) answer.add(chunk);
    else if (isHeavyJson(data)) answer.break(`The upstream sent ${TOO_MANY_VALUES}.`);
    return textOf(answer.taken());
  }

  function after(step: () => void): Buffer {
    step();
    return Buffer.from(textOf(answer.taken()));
  }

  return {
    push(frames) {
      bytes += frames.bytes.length;
      if (bytes > MAX_STREAM_BYTES) return after(() => answer.break(TOO_LONG));
      return Buffer.from(eventsOf(frames).map(told).join(''));
    },
    end: () => after(() => answer.end()),
    fail: (error) => after(() => answer.fail(error)),
    ended: () => answer.ended,
  };
}

/** The events of an answer, of which a whole answer is made as well as a stream. */
class AnswerEvents {
  /** Nothing follows what ended it. */
  ended: 'no' | 'complete' | 'failed' = 'no';
  readonly #events: TypedEvent[] = [];
  readonly #told: { -readonly [Field in keyof AnswerState]: AnswerState[Field] };
  readonly #steps: AnswerSteps;
  #hasBegun = false;

  constructor(
    { stepsOf }: ProtocolTranslation,
    exchange: TranslatedExchange,
    blocks: BegunBlocks | null,
  ) {
    this.#told = { model: null, finish: null, stop: null, usage: null };
    const emit = (event: TypedEvent) => {
      if (this.ended !== 'failed') this.#events.push(event);
    };
    const refuse = (problem: string) => this.break(problem);
    this.#steps = stepsOf({ exchange, told: this.#told, emit, refuse, blocks });
  }

  /** @param value a parsed chunk */
  add(value: unknown): void {
    if (this.ended !== 'no') return;
    const part = readChatAnswer(value);
    if (typeof part === 'string') return this.break(part);
    const told = this.#told;
    told.model ??= part.model;
    told.finish = part.finish ?? told.finish;
    told.stop = part.stop ?? told.stop;
    told.usage = part.usage ?? told.usage;
    this.#begin();
    const before = this.#events.length;
    for (const delta of part.deltas) this.#steps.add(delta);
    if (part.deltas.length > 0 && this.#events.length === before) this.#steps.wait?.();
  }

  end(): void {
    if (this.ended !== 'no') return;
    this.#begin();
    const { finish } = this.#told;
    if (finish === null) this.break(NO_FINISH);
    else this.#steps.finish(finish);
    if (this.ended === 'no') this.ended = 'complete';
  }

  break(problem: string): void {
    this.fail({ status: 502, code: 'upstream_bad_response', message: problem });
  }

  fail(error: HttpError): void {
    if (this.ended !== 'no') return;
    this.#steps.fail(error, () => this.#begin());
    this.ended = 'failed';
  }

  /** Those since the last call. */
  taken(): readonly TypedEvent[] {
    return this.#events.splice(0);
  }

  #begin(): void {
    if (!this.#hasBegun) this.#steps.begin();
    this.#hasBegun = true;
  }
}

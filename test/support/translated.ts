import { framesOf } from '../../main/gateway/protocols/sse.ts';
import { createAnswerTranslator } from '../../main/gateway/protocols/translation/answer-translator.ts';
import type {
  ProtocolTranslation,
  TranslatedExchange,
} from '../../main/gateway/protocols/translation/translation.ts';

const EXCHANGE: TranslatedExchange = {
  request: {},
  id: 'x',
  createdAt: 1_700_000_000,
  model: 'asked',
  functions: new Map(),
  items: null,
};

const translatorOf = (
  translation: ProtocolTranslation,
  exchange: Partial<TranslatedExchange> = {},
) => createAnswerTranslator(translation, { ...EXCHANGE, ...exchange }, { named: [], others: 0 });

/** A translated stream, of which both sides are texts. */
export function streamOf(...asked: Parameters<typeof translatorOf>) {
  const stream = translatorOf(...asked).createStream();
  return {
    push: (chunk: object) =>
      stream.push(framesOf([Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`)])).toString(),
    end: () => stream.end().toString(),
    fail: (error: Parameters<typeof stream.fail>[0]) => stream.fail(error).toString(),
    ended: () => stream.ended(),
  };
}

/** A whole answer, given as JSON or parsed, as its caller gets it; null if it cannot be translated. */
export function answerOf(
  completion: unknown,
  ...asked: Parameters<typeof translatorOf>
): object | null {
  const json = typeof completion === 'string' ? completion : JSON.stringify(completion);
  const whole = translatorOf(...asked).whole(Buffer.from(json), false);
  return whole.kind === 'answer' ? (JSON.parse(whole.body.toString()) as object) : null;
}

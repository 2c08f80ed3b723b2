import { parseJson } from '../../platform/json.ts';
import { isObject } from '#shared/objects.ts';
import { anthropicType, type ErrorShape } from '../http/errors.ts';
import { messageIn } from '../upstream/error-words.ts';

/** An upstream's own error response. */
interface PassedError {
  readonly status: number;
  readonly body: Buffer;
  readonly type: string;
}

/** An error of OpenAI's shape in that of Anthropic, whose clients would find no message in it; others stay. */
export function inShape(shape: ErrorShape, passed: PassedError): PassedError {
  if (shape !== 'anthropic') return passed;
  const parsed = parseJson(passed.body.toString('utf8'));
  if (!isObject(parsed) || parsed['type'] === 'error') return passed;
  const error = { type: anthropicType(passed.status), message: messageIn(parsed) };
  const body = Buffer.from(JSON.stringify({ type: 'error', error, request_id: null }));
  return { ...passed, body, type: 'application/json' };
}

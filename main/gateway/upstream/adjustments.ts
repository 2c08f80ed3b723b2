import { isObject, isTooDeep, parseJson } from '../../platform/json.ts';
import type { Knowledge } from '../memory/memory.ts';
import { type BodyChange, bodyOf, type JsonBody } from '../protocols/json-edit.ts';
import type { ErrorResponse } from './failure.ts';
import { type RefusedField, refusedFields, withoutFields } from './refused-fields.ts';
import { REWRITES } from './rewrites.ts';
import { isTokenLimit, type TokenLimit, tokenLimitIn, withinLimit } from './token-limits.ts';

const NAMES = Object.keys(REWRITES) as readonly (keyof typeof REWRITES)[];

/**
 * A change of a request for an upstream that refuses it as it is: hosts and engines differ in fields that callers and
 * the gateway send without knowing who will answer.
 */
export type Adjustment = (typeof NAMES)[number] | RefusedField | TokenLimit;
type Adjustments = ReadonlySet<Adjustment>;

/** A request that was refused, as it was sent. */
interface RefusedRequest extends Pick<ErrorResponse, 'status' | 'error'> {
  /** Its answer is words; of vectors and sounds each field says what they are to be, but for how vectors are written. */
  readonly isForWords: boolean;
  readonly body: Buffer;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly made: Adjustments;
  /** A whole answer will do: the caller did not ask for a stream, or one can be made of it. */
  readonly mayBeWhole: boolean;
}

/** What strict hosts answer to fields that they do not take; 404 for items of a conversation. */
export const REFUSAL_STATUSES: ReadonlySet<number> = new Set([400, 404, 422]);

/** An upstream may name what it likes, and each time it is asked again. */
const MAX_CHANGES = 16;
/** What was refused stands at the start of a message. */
const MAX_TEXT = 2000;
/** A longer request is not looked through, as that blocks the event loop; a conversation is refused at its first turns. */
const MAX_BYTES = 4 * 1024 * 1024;

export const WITHOUT_STREAM = 'without stream';
export const WITHOUT_USAGE = 'without stream_options';

/** The changes that would answer a refusal; none if it names nothing that can be changed. */
export function adjustmentsAfter(refused: RefusedRequest): readonly Adjustment[] {
  const { status, isForWords, made, headers, mayBeWhole } = refused;
  if (made.size >= MAX_CHANGES || refused.body.length > MAX_BYTES) return [];
  const request = parseJson(refused.body.toString('utf8'));
  if (!isObject(request) || isTooDeep(request)) return [];
  const body = bodyOf(refused.body);
  const error = { ...refused.error, message: refused.error.message.slice(0, MAX_TEXT) };
  const text = `${error.param ?? ''} ${error.codes.join(' ')} ${error.message}`;
  const rewritten = NAMES.find((name) => {
    const [change, ...asks] = REWRITES[name];
    return !made.has(name) && asks.some((words) => words.test(text)) && change(body) !== null;
  });
  if (rewritten !== undefined) return [rewritten];
  // Some engines take a conversation to be right, and themselves to be at fault.
  if (status === 500) return [];
  const limit = [...made].some(isTokenLimit) ? null : tokenLimitIn(text);
  if (limit !== null && withinLimit(limit)(body) !== null) return [limit];
  const betas = betasIn(headers).map((beta) => [beta, true]);
  const inHeader = betas.length > 0 ? { [BETAS]: Object.fromEntries(betas) as unknown } : {};
  return refusedFields(error, { ...request, ...inHeader }).filter((each) => {
    const isFit = isForWords || each.startsWith('without encoding_format');
    return isFit && !made.has(each) && (each !== WITHOUT_STREAM || mayBeWhole);
  });
}

export function adjustedBody(given: JsonBody, made: Adjustments): JsonBody {
  if (made.size === 0) return given;
  const changed = (body: JsonBody, change: BodyChange) => change(body) ?? body;
  const rewrites = NAMES.filter((name) => made.has(name)).map((name) => REWRITES[name][0]);
  const left = withoutFields([...made], rewrites.reduce(changed, given));
  return [...made].filter(isTokenLimit).map(withinLimit).reduce(changed, left);
}

/** The values of this header count as fields inside of it: Bedrock and Vertex know fewer than Claude Code asks for. */
const BETAS = 'anthropic-beta';

function betasIn(headers: readonly string[]): readonly string[] {
  const value = headers.includes(BETAS) ? headers[headers.indexOf(BETAS) + 1] : undefined;
  return value?.match(/[^,\s]+/g) ?? [];
}

export function adjustedHeaders(headers: readonly string[], made: Adjustments): readonly string[] {
  const sent = made.size === 0 ? [] : betasIn(headers);
  const isGone = (field: string) => made.has(`without ${field}`);
  const left = sent.filter((beta) => !isGone(BETAS) && !isGone(`${BETAS}.${beta}`));
  if (left.length === sent.length) return headers;
  const header = left.length === 0 ? [] : [BETAS, left.join(',')];
  return headers.toSpliced(headers.indexOf(BETAS), 2, ...header);
}

/** How long an upstream that never told its usage is not asked for it after an unexplained failure. */
const SUSPECTED_MS = 600_000;

/** What an upstream is known to refuse, by model, as most hosts have models of many makers: the changes to make at once. */
export function knownRefusals(known: Knowledge, model: string): Adjustments {
  const own = known.entries('refuses').filter(({ value }) => value.model === model);
  return new Set(own.map(({ value }) => value.change as Adjustment));
}

/** What is known already is not known for longer: hosts learn, too. */
function noteRefusal(known: Knowledge, model: string, change: Adjustment, ms?: number): void {
  const key = `${model}\n${change}`;
  if (known.get('refuses', key) === null) known.set('refuses', key, { model, change }, ms);
}

/** A request with these changes was answered. */
export function learnRefusals(known: Knowledge, model: string, made: Adjustments): void {
  // These are about one conversation or request rather than about its upstream.
  const isPassing = (each: Adjustment) => each === 'without_thoughts' || isTokenLimit(each);
  for (const each of made) if (!isPassing(each)) noteRefusal(known, model, each);
}

/** A request that asked for its usage was answered, or failed without a reason: then it is not asked for for a while. */
export function learnUsage(known: Knowledge, model: string, isAnswered: boolean): void {
  if (known.get('tells', model) !== null) return;
  if (isAnswered) known.set('tells', model, true);
  else noteRefusal(known, model, WITHOUT_USAGE, SUSPECTED_MS);
}

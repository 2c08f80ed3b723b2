import { isObject } from '#shared/objects.ts';
import { parseJson } from '../response/answer.ts';

/** Whether the same request should give the same text again: temperature 0, or a seed. */
export function isDeterministic(request: Buffer): boolean {
  const body = parseJson(request.toString('utf8'));
  return isObject(body) && (body['temperature'] === 0 || typeof body['seed'] === 'number');
}

import { type ChatRequest, withModel } from './chat-request.ts';

/** Name and model of each `name=model`. */
export function aliasesOf(pairs: readonly string[]): readonly (readonly [string, string])[] {
  return pairs.map((pair) => {
    const at = pair.indexOf('=');
    return [pair.slice(0, at), pair.slice(at + 1)];
  });
}

/** The request as if its caller had asked for the model that the name stands for; aliases of aliases are none. */
export function withoutAlias(request: ChatRequest, pairs: readonly string[]): ChatRequest {
  const { model } = request;
  if (model === null || pairs.length === 0) return request;
  const pair = pairs.find((each) => each.startsWith(`${model}=`));
  return pair === undefined ? request : withModel(request, pair.slice(model.length + 1));
}

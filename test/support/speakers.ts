import type { Reply } from './chat-answers.ts';
import { saying } from '../upstreams/speech.ts';
import { startGateway } from './gateway.ts';
import { startBefore } from './scene.ts';
import { startTranslator } from './translator.ts';
import { answers, error, type Script, startUpstream } from './upstream.ts';

/** `native`: the upstream speaks the caller's protocol; `translated`: only chat completions. */
export const WAYS = (['local', 'hosted_a'] as const).flatMap((place) =>
  (['native', 'translated'] as const).map((way) => ({ place, way })),
);
type Way = (typeof WAYS)[number];

/** Serves chat completions and answers `status` to everything else. */
export const chatOnly =
  (status: number, script: Script = answers('hi')): Script =>
  (call) =>
    call.path.endsWith('/chat/completions') ? script(call) : error(status, 'Not Found')(call);

/** A chat completion that says so, and 404 for everything else. */
export const saysInChat = (said: Reply): Script => chatOnly(404, saying(said, {}));

/** A gateway in front of an upstream that gives these answers in turn, the last one again and again. */
export async function startSpeaker({ place, way }: Way, ...said: readonly [Reply, ...Reply[]]) {
  const upstream = await (way === 'native' ? native(said) : translated(said));
  const protocols = way === 'native' ? way : 'auto';
  const { url } = await startGateway({
    ...placedAt(place, upstream.url),
    LOCAL_PROTOCOLS: protocols,
  });
  return { url, bodies: upstream.bodies };
}

/** Settings that put an upstream at a place; a hosted one has a key of the gateway's. */
export const placedAt = (place: Way['place'], url: string): Record<string, string> =>
  place === 'local'
    ? { LOCAL_ENGINE_URL: url }
    : { HOSTED_A_BASE_URL: `${url}/v1`, HOSTED_A_API_KEY: 'sk-hosted' };

/** A gateway in front of an upstream that is known to speak chat completions only. */
export async function startChatOnly(script: Script) {
  const { a, gateway, url } = await startBefore({ a: script }, { HOSTED_A_PROTOCOLS: 'chat' });
  return { upstream: a, gateway, url };
}

/** `bodies`: what was asked for, as chat completions. */
async function native(said: readonly [Reply, ...Reply[]]) {
  const { chat, url } = await startTranslator(said[0]);
  const bodies = () => chat.bodies;
  chat.next = said.slice(1);
  return { url, bodies };
}

async function translated(said: readonly Reply[]) {
  let answered = 0;
  const upstream = await startUpstream((call) => {
    const isChat = call.path.endsWith('/chat/completions');
    const answer = said[Math.min(answered, said.length - 1)];
    if (isChat) answered += 1;
    return answer === undefined ? error(500)(call) : saysInChat(answer)(call);
  });
  const bodies = () =>
    upstream.calls
      .filter(({ path }) => path.endsWith('/chat/completions'))
      .map((call) => call.json);
  return { url: upstream.url, bodies };
}

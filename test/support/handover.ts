import { endedInError } from './protocols.ts';
import { turns } from './report.ts';
import { heard, streamOf } from './resume.ts';
import { startStill } from './scene.ts';
import { json, lists, sse, type Script, type UpstreamCall } from './upstream.ts';

/** The answer that all upstreams of these tests know. */
export const TEXT = 'The quick brown fox jumps over the lazy dog.';
/** What `heard` makes of it: one answer of one upstream. */
export const ONE_WHOLE = {
  content: TEXT,
  reasoning: '',
  roles: 1,
  finishes: ['stop'],
  dones: 1,
  ids: new Set(['a']),
};
export const WORDS: readonly string[] = TEXT.split(/(?<= )/);

/** The answer as the upstream `id` streams it: the role, a word an event, the finish reason, `[DONE]`. */
export function told(id: string, words: readonly string[] = WORDS): string[] {
  return streamOf(id, words, 'alone');
}

/** The first events of it, with so many words. */
export function begun(id: string, words: number): string[] {
  return told(id).slice(0, 1 + words);
}

/** The text that a call asks to go on from; null where it asks for a whole answer. */
export function askedOf({ json: body }: UpstreamCall): string | null {
  const last = (body['messages'] as { role: string; content: string }[]).at(-1);
  return last?.role === 'assistant' ? last.content : null;
}

/** What is missing of the answer after what a call asks to go on from, in words. */
export function missing(call: UpstreamCall): string[] {
  return TEXT.slice((askedOf(call) ?? '').length).split(/(?<= )/);
}

/** Tells the answer, or goes on from what was begun. */
export function goesOn(id: string): Script {
  return (call) => sse(...told(id, missing(call)))(call);
}

/** The text that a caller has, and whether the answer is whole; if not, its stream must say so. */
export function outcomeOf(text: string): { readonly content: string; readonly isWhole: boolean } {
  const isWhole = text.endsWith('data: [DONE]\n\n');
  return { content: heard(isWhole ? text : endedInError(text).before).content, isWhole };
}

/** How an engine that takes no begun answer says so. */
export const rejectsPrefill: Script = json(400, {
  error: { message: 'Assistant prefill is not supported', type: 'invalid_request_error' },
});

/**
 * Three hosted upstreams that serve the same model and can be asked to go on, 5 s of silence allowed, and a
 * clock that stands still. Without a script an upstream hangs until it is given one.
 */
export function startHandover(
  [a = [], b = [], c = []]: readonly (Script | readonly Script[] | undefined)[],
  settings: Readonly<Record<string, string>> = {},
) {
  return startStill(
    { a, b, c },
    {
      HOSTED_A_MODEL: 'same',
      HOSTED_B_MODEL: 'same',
      HOSTED_C_MODEL: 'same',
      HOSTED_A_PREFILL: 'continue_final_message',
      HOSTED_B_PREFILL: 'continue_final_message',
      HOSTED_C_PREFILL: 'continue_final_message',
      IDLE_TIMEOUT_MS: '5000',
      FAIL_THRESHOLD: '1000',
      ...settings,
    },
  );
}

/** The first two of them without a setting; the gateway has read that the second lists models of these owners. */
export async function startListed(
  scripts: readonly [Script | undefined, Script],
  owners: Readonly<Record<string, string>>,
  settings: Readonly<Record<string, string>> = {},
) {
  const unset = { HOSTED_A_PREFILL: 'auto', HOSTED_B_PREFILL: 'auto', HOSTED_C_BASE_URL: '' };
  const handover = await startHandover(scripts, { ...unset, ...settings });
  const { b, gateway } = handover;
  b.answerGet = lists(...Object.entries(owners).map(([id, owner]) => ({ id, owned_by: owner })));
  gateway.host.askForModels();
  await b.get(1);
  await turns(gateway);
  return handover;
}

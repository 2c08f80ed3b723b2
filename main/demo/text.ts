import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';

/** What a demo upstream answers; it says itself that nothing thought about the question. */
export function cannedAnswer(id: UpstreamId): string {
  return (
    `This is canned text from the demo upstream "${id}": no model ran. ` +
    'It came through the same router, breaker counts and relay that a real engine would. ' +
    'Break this upstream in the window, or type "break ' +
    id +
    '" where the demo runs, and ask again to watch another one take over.'
  );
}

/** The rest of an answer that was begun, whichever upstream began it; the whole of its own for any other text. */
export function restOfAnswer(id: UpstreamId, begun: string): string {
  const answers = [id, ...UPSTREAM_IDS].map(cannedAnswer);
  const meant = answers.find((answer) => answer.startsWith(begun));
  return meant === undefined ? cannedAnswer(id) : meant.slice(begun.length);
}

/** All demo upstreams claim to serve one model: only of the same model is an answer carried on. */
export const DEMO_MODEL = 'demo-model';

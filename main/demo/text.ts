import type { UpstreamId } from '#shared/ids.ts';

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

/** The model that a demo upstream claims to serve. */
export function demoModel(id: UpstreamId): string {
  return `demo-${id.replace('_', '-')}`;
}

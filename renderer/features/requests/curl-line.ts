import type { UpstreamReport } from '#shared/status.ts';

/** A curl command for a first request. */
export function firstRequest(baseUrl: string, upstreams: readonly UpstreamReport[]): string {
  const model = upstreams.find(({ healthy, model: name }) => healthy && name !== '')?.model;
  const body = JSON.stringify({
    ...(model === undefined ? {} : { model }),
    messages: [{ role: 'user', content: 'Hello' }],
    stream: true,
  });
  // A quote would end the shell's; in JSON it may stand as its code.
  const data = body.replaceAll("'", String.raw`\u0027`);
  return `curl -N ${baseUrl}/chat/completions -H 'Content-Type: application/json' -d '${data}'`;
}

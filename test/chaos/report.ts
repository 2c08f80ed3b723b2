import type { Played } from './arena.ts';
import { type ChaosRequest, PATHS } from './requests.ts';
import type { PlayedCall } from './upstreams.ts';

/** What became of a request, and why. `isWhole`: with all that was sent on the way. */
export function reportOf(played: Played, isWhole: boolean): string {
  const { request, gateway, findings, calls, received, end } = played;
  const body = received.body.toString();
  return [
    `request ${request.n} of seed ${request.seed}: ${end}`,
    ...findings.map((finding) => `  WRONG: ${finding}`),
    `  ${askedText(request)} of the gateway "${gateway}"`,
    ...calls.flatMap((call) => (isWhole ? callText(call) : callText(call).slice(0, 1))),
    `  its row: ${rowText(played)}`,
    `  received: ${received.head?.status ?? 'no status'}, ${received.end}`,
    isWhole ? body : shortened(body),
  ].join('\n');
}

function askedText({
  protocol,
  isStream,
  isRepeatable,
  asksForUsage,
  leaves,
}: ChaosRequest): string {
  return [
    `${isStream ? 'a stream' : 'a whole answer'} of ${PATHS[protocol]}`,
    ...(asksForUsage ? ['with its usage'] : []),
    ...(isRepeatable ? ['at temperature 0'] : []),
    ...(leaves.kind === 'never' ? [] : [`left after ${leaves.after} ${leaves.kind},`]),
  ].join(' ');
}

function callText({ upstream, asked, script }: PlayedCall): string[] {
  const { call, protocol, partial, body } = asked;
  const continues = partial === null ? '' : ` to continue ${partial.length} characters`;
  const sent = Buffer.concat(script.pieces.map(({ bytes }) => bytes)).toString();
  return [
    `  ${upstream}, call ${call} (${protocol}${continues}): ${script.name}`,
    JSON.stringify(body),
    sent,
    `  … and then: ${script.end}`,
  ];
}

function rowText({ row: read }: Played): string {
  const row = read();
  if (row === null) return 'none';
  const attempts = row.attempts.map(
    ({ upstream, cause, reason }) => `${upstream} (${cause}) ${reason ?? 'answered'}`,
  );
  return [row.state, ...attempts].join('; ');
}

const SHOWN_CHARS = 3000;

function shortened(text: string): string {
  if (text.length <= SHOWN_CHARS) return text;
  return `${text.slice(0, SHOWN_CHARS / 2)}\n  …\n${text.slice(-SHOWN_CHARS / 2)}`;
}

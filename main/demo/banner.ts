import { COMMAND_HELP } from './commands.ts';

const BODY = `'{"model":"any","messages":[{"role":"user","content":"Hello"}]}'`;
const STREAM_BODY = `'{"model":"any","stream":true,"messages":[{"role":"user","content":"Hello"}]}'`;
const JSON_TYPE = `-H 'Content-Type: application/json'`;

/** What the demo prints when it runs. */
export function banner(where: {
  readonly baseUrl: string;
  readonly url: string;
  readonly link: string;
  readonly tokenFile: string;
}): string {
  const chat = `${where.baseUrl}/chat/completions`;
  const fault = `${where.url}/api/v1/demo/faults/local`;
  const token = `-H "Authorization: Bearer $(cat ${where.tokenFile})"`;
  return `
Switchyard demo: the real gateway over five demo upstreams on loopback sockets.
Every answer is canned text, made by no model; nothing leaves this machine.

Window   ${where.link}
Base URL ${where.baseUrl}

Try, in another terminal:

1. A plain answer, from local:
curl -i ${chat} ${JSON_TYPE} -d ${BODY}

2. A streamed one:
curl -iN ${chat} ${JSON_TYPE} -d ${STREAM_BODY}

3. Break local, then ask again: X-Gateway-Upstream and X-Gateway-Fallback-Reason tell what happened.
curl -sS -o /dev/null -X PUT ${fault} ${token} ${JSON_TYPE} -d '{"fault":"refuse"}' && curl -iN ${chat} ${JSON_TYPE} -d ${STREAM_BODY}

Or type here:  ${COMMAND_HELP}
Such as:       break local cut                         (another carries its answer on)
               break local, then break hosted_a slow   (hosted_b is asked beside it)
Ctrl+C ends it.
`;
}

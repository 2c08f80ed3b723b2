import { request, type IncomingHttpHeaders } from 'node:http';
import { networkInterfaces } from 'node:os';
import { expect } from 'vitest';

/** An answer of any route. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** What is sent; headers go out as they are, `host` included. */
export interface HttpCall {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** Sends one request on a connection of its own and waits for the whole answer. */
export function send(url: string, { method = 'GET', headers, body }: HttpCall = {}) {
  return new Promise<HttpAnswer>((resolve, reject) => {
    const req = request(url, { method, agent: false, headers: { ...headers } }, (res) => {
      let text = '';
      res.setEncoding('utf8');
      res.on('data', (part: string) => (text += part));
      res.on('error', reject);
      res.on('end', () => resolve({ status: res.statusCode ?? 0, headers: res.headers, text }));
    });
    req.on('error', reject);
    req.end(body);
  });
}

/** A POST with a JSON body. */
export function postJson(url: string, value: unknown, headers: Record<string, string> = {}) {
  return send(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(value),
  });
}

/** The headers of somebody who holds a key or a token. */
export const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });

/** Holds an answer against the one error shape of the gateway's own, and gives its message; `param`: the field it is to name. */
export function expectError(
  answer: HttpAnswer,
  status: number,
  code: string,
  param?: string,
): string {
  expect(answer).toMatchObject({
    status,
    headers: { 'content-type': 'application/json; charset=utf-8' },
  });
  const body = JSON.parse(answer.text) as { error: { message: string } };
  expect(body).toEqual({
    error: {
      message: expect.stringMatching(/\S/),
      type: expect.stringMatching(/^[a-z_]+_error$/),
      code,
      param: param ?? expect.toSatisfy((name) => name === null || typeof name === 'string'),
    },
    src: 'gateway',
  });
  return body.error.message;
}

const interfaces = Object.values(networkInterfaces()).flatMap((each) => each ?? []);

/** Whether this machine has `::1`. */
export const HAS_IPV6_LOOPBACK = interfaces.some(({ address }) => address === '::1');

/** An address of this machine that others can reach, where it has one. */
export const OUTER_ADDRESS = interfaces.find(
  ({ family, internal }) => family === 'IPv4' && !internal,
)?.address;

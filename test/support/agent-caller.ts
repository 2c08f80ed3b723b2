import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';

const STREAM = { model: 'm', messages: [{ role: 'user', content: 'hi' }], stream: true };

/** Asks for a chat completion, on a connection of its own. */
export function asking(url: string, body: unknown) {
  const headers = { 'content-type': 'application/json' };
  const req = request(`${url}/v1/chat/completions`, { method: 'POST', agent: false, headers });
  req.on('error', () => {});
  return req.end(JSON.stringify(body));
}

/** Begins a chat completion and gives its response as it comes. */
export async function begin(url: string, body: unknown = STREAM) {
  const req = asking(url, body);
  const [res] = (await once(req, 'response')) as [IncomingMessage];
  res.on('error', () => {});
  return { req, res };
}

/** Resolves once a response is over, whether it was whole or not. */
export const over = (res: IncomingMessage) =>
  new Promise<void>((resolve) => {
    res.on('close', () => resolve()).resume();
  });

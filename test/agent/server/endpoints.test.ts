import { expect, test } from 'vitest';
import { ENDPOINTS } from '../../../main/gateway/protocols/endpoints.ts';
import { startModelServer, startServing } from '../../support/agent.ts';
import { postJson, send } from '../../support/http.ts';
import { json } from '../../support/upstream.ts';

const JSON_PATHS = ENDPOINTS.filter(({ body }) => body === 'json').flatMap(({ paths }) =>
  paths.filter((path) => path.startsWith('/v1/')),
);

test.each(JSON_PATHS)('%s, which gateways serve, is forwarded', async (path) => {
  const engine = await startModelServer(json(200, { data: [] }));
  const { url } = await startServing(engine);
  expect((await postJson(url + path, { model: 'm', input: 'x' })).status).toBe(200);
  expect(engine.calls[0]?.path).toBe(path);
});

test('a form is forwarded with its boundary, and JSON in its place is refused', async () => {
  const engine = await startModelServer(json(200, { text: 'a' }));
  const url = `${(await startServing(engine)).url}/v1/audio/transcriptions`;
  const headers = { 'content-type': 'multipart/form-data; boundary=x' };
  const body = '--x\r\ncontent-disposition: form-data; name="model"\r\n\r\nm\r\n--x--\r\n';
  expect((await send(url, { method: 'POST', headers, body })).status).toBe(200);
  expect(engine.calls[0]?.headers['content-type']).toBe(headers['content-type']);
  expect(engine.calls[0]?.body.toString()).toBe(body);
  expect((await postJson(url, {})).status).toBe(415);
});

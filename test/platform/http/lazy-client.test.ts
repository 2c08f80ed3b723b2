import { expect, test } from 'vitest';
import { createLazyClient } from '../../../main/platform/http/client.ts';
import type {
  HttpClient,
  HttpRequest,
  ResponseListener,
} from '../../../main/platform/http/types.ts';

const REQUEST: HttpRequest = {
  method: 'GET',
  origin: 'https://example.test',
  path: '/',
  headers: [],
  body: null,
  fresh: false,
};

/** A client that is loaded when the test says so, and what was done to its exchanges. */
function startClient() {
  const did: string[] = [];
  const listeners: ResponseListener[] = [];
  const loading = Promise.withResolvers<HttpClient>();
  let loads = 0;
  const client = createLazyClient(() => {
    loads += 1;
    return loading.promise;
  });
  const real: HttpClient = {
    send(_request, listener) {
      did.push('send');
      listeners.push(listener);
      const note = (what: string) => () => void did.push(what);
      return {
        listener,
        pause: note('pause'),
        resume: note('resume'),
        abort: note('abort'),
        hasLeft: () => true,
      };
    },
    dropIdle: () => void did.push('drop idle'),
    close: () => Promise.resolve(void did.push('close')),
  };
  return { client, did, listeners, loads: () => loads, load: () => loading.resolve(real), loading };
}

/** A listener that writes down what it hears. */
function hearing(): ResponseListener & { readonly heard: string[] } {
  const heard: string[] = [];
  return {
    heard,
    onHead: (status) => void heard.push(`head ${status}`),
    onData: (chunk) => void heard.push(chunk.toString()),
    onEnd: () => void heard.push('end'),
    onFailure: ({ kind, detail }) => void heard.push(`${kind}: ${detail}`),
  };
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test('no client is loaded before the first request, and then one for all', async () => {
  const { client, loads, load, did } = startClient();
  expect(loads()).toBe(0);
  for (let n = 0; n < 3; n += 1) client.send(REQUEST, hearing());
  load();
  await turn();
  client.send(REQUEST, hearing());
  expect(loads()).toBe(1);
  expect(did).toEqual(['send', 'send', 'send', 'send']);
});

test('a pause and an abort before an exchange has begun hold once it has', async () => {
  const { client, did, load } = startClient();
  client.send(REQUEST, hearing()).pause();
  client.send(REQUEST, hearing()).abort();
  const paused = client.send(REQUEST, hearing());
  paused.pause();
  paused.resume();
  load();
  await turn();
  expect(did).toEqual(['send', 'pause', 'send']);
});

test('a client that cannot be loaded is an upstream that cannot be reached', async () => {
  const { client, loading } = startClient();
  const listener = hearing();
  client.send(REQUEST, listener);
  loading.reject(new Error('no such module'));
  await turn();
  expect(listener.heard).toEqual(['unreachable: no such module']);
  await expect(client.close()).resolves.toBeUndefined();
});

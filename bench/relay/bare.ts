/**
 * *Bare*, a process of its own: the shortest way through Node, node:http in and one undici.Pool out. It
 * looks at nothing, changes nothing and keeps its connections. Argument: the upstream's port.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'undici';

const pool = new Pool(`http://127.0.0.1:${process.argv[2]}`, { connections: null });

const server = createServer((req, res) => {
  const { method = '', url: path = '/', headers } = req;
  // Of the connection, not of the message: undici sends none.
  delete headers.connection;
  const message = { method, path, headers };
  pool.dispatch(method === 'GET' ? message : { ...message, body: req }, {
    onRequestStart: () => {},
    onResponseStart(controller, status, answerHeaders) {
      delete answerHeaders['connection'];
      res.writeHead(status, answerHeaders);
      res.on('drain', () => controller.resume());
    },
    onResponseData(controller, piece) {
      if (!res.write(piece)) controller.pause();
    },
    onResponseEnd: () => void res.end(),
    onResponseError: () => void res.destroy(),
  });
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listening on ${(server.address() as AddressInfo).port}\n`);
});

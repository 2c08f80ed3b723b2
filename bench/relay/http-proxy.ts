/**
 * The proxy that one writes with node:http alone, a process of its own: the older yardstick. It
 * looks at nothing, changes nothing and keeps its connections. Argument: the upstream's port.
 */
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

const upstream = { host: '127.0.0.1', port: Number(process.argv[2]) };
const agent = new Agent({ keepAlive: true });

const server = createServer((req, res) => {
  const { method, url: path, headers } = req;
  const out = request({ ...upstream, agent, method, path, headers }, (answer) => {
    res.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(res);
  });
  out.on('error', () => {
    if (res.headersSent) res.destroy();
    else res.writeHead(502).end();
  });
  req.pipe(out);
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listening on ${(server.address() as AddressInfo).port}\n`);
});

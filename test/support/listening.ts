import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/**
 * Lets a server listen on a free port of loopback, or on a given one, and gives the port. With the test it is closed, and
 * so is each connection to it.
 */
export async function listening(server: Server, host = '127.0.0.1', port = 0): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(port, host);
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/**
 * Makes a port refuse connections until the returned function is called. A port that is merely free may
 * be given to another test at any time: this one is kept as the own end of a connection.
 */
export async function refusing(port: number): Promise<() => void> {
  const other = createServer((socket) => {
    // The port is given back by a reset.
    socket.on('error', () => {});
  });
  const address = { host: '127.0.0.1', port: await listening(other) };
  const socket = connect({ ...address, localAddress: '127.0.0.1', localPort: port });
  await once(socket, 'connect');
  // With the test the other end breaks off.
  socket.on('error', () => {});
  return () => void socket.resetAndDestroy();
}

import type { Socket } from 'node:net';
import type { HttpRequest } from './types.ts';

/** Up to this size head and body are joined and written as one string: a single plain system call. */
const MAX_ONE_PIECE_BYTES = 16 * 1024;

/** `authority`: the value of the `Host` header. */
export function writeRequest(
  socket: Socket,
  authority: string,
  { method, path, headers, body }: HttpRequest,
): void {
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${authority}\r\nconnection: keep-alive\r\n`;
  for (let index = 0; index < headers.length; index += 2) {
    head += `${headers[index]}: ${headers[index + 1]}\r\n`;
  }
  if (body === null) socket.write(`${head}\r\n`, 'latin1');
  else if (body.length <= MAX_ONE_PIECE_BYTES) {
    const text = `${head}content-length: ${body.length}\r\n\r\n${body.toString('latin1')}`;
    socket.write(text, 'latin1');
  } else {
    socket.cork();
    socket.write(`${head}content-length: ${body.length}\r\n\r\n`, 'latin1');
    socket.write(body);
    socket.uncork();
  }
}

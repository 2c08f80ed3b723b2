import { type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http';
import type { Clock } from '../../main/platform/clock.ts';
import type { Received } from './judge.ts';
import { bodyOf, type ChaosRequest, PATHS } from './requests.ts';

/** More than all timeouts of a request together. */
const STUCK_MS = 120_000;

/** Sends a request and takes its answer as this caller does. */
export function call(url: string, request: ChaosRequest, clock: Clock): Promise<Received> {
  return new Promise((resolve) => {
    const bytes = Buffer.from(JSON.stringify(bodyOf(request)));
    const headers = { 'content-type': 'application/json', 'content-length': bytes.length };
    const options = { method: 'POST', agent: false, headers };
    const req = httpRequest(url + PATHS[request.protocol], options);
    const parts: Buffer[] = [];
    let head: Received['head'] = null;
    let broken: 'left' | 'stuck' | null = null;
    const breakOff = (how: typeof broken) => {
      broken = how;
      req.destroy();
    };
    const cancelStuck = clock.after(STUCK_MS, () => breakOff('stuck'));
    const settle = (end: Received['end']) => {
      cancelStuck();
      resolve({ head, body: Buffer.concat(parts), end: broken ?? end });
    };
    leaveInTime(req, request, () => breakOff('left'), clock);
    req.on('response', (res) => {
      head = { status: res.statusCode ?? 0, headers: res.headers };
      leaveAfterBytes(res, request, () => breakOff('left'));
      res.on('data', (part: Buffer) => {
        if (broken === null) parts.push(part);
      });
      res.on('end', () => settle('ended'));
      res.on('error', () => settle('closed'));
      res.on('close', () => settle('closed'));
    });
    req.on('error', () => settle('closed'));
    req.end(bytes);
  });
}

function leaveInTime(
  req: ClientRequest,
  { leaves }: ChaosRequest,
  leave: () => void,
  clock: Clock,
): void {
  if (leaves.kind === 'ms') req.on('close', clock.after(leaves.after, leave));
}

function leaveAfterBytes(res: IncomingMessage, { leaves }: ChaosRequest, leave: () => void): void {
  if (leaves.kind !== 'bytes') return;
  let bytes = 0;
  res.on('data', (part: Buffer) => {
    bytes += part.length;
    if (bytes >= leaves.after) leave();
  });
}

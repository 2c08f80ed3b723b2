import { request as httpRequest } from 'node:http';
import type { Clock } from '../../main/platform/clock.ts';
import { PATHS } from '../support/readers/readers.ts';
import { bodyOf, type ChaosRequest } from './requests.ts';

/** What a caller got. */
export interface Received {
  /** Null: no response began. */
  readonly head: {
    readonly status: number;
    readonly headers: NodeJS.Dict<string | string[]>;
  } | null;
  readonly body: Buffer;
  /** `ended`: as HTTP ends a response; `closed`: the connection broke; `left`: the caller broke it; `stuck`: it did not end. */
  readonly end: 'ended' | 'closed' | 'left' | 'stuck';
}

/** More than all timeouts of a request together. */
const STUCK_MS = 120_000;

/** Sends a request and reads its answer until it ends or this caller leaves. */
export function call(url: string, request: ChaosRequest, clock: Clock): Promise<Received> {
  return new Promise((resolve) => {
    const options = {
      method: 'POST',
      agent: false,
      headers: { 'content-type': 'application/json' },
    };
    const req = httpRequest(url + PATHS[request.protocol], options);
    const parts: Buffer[] = [];
    let bytes = 0;
    let head: Received['head'] = null;
    let broken: 'left' | 'stuck' | null = null;
    const { leaves } = request;
    const leave = (how: 'left' | 'stuck') => {
      broken ??= how;
      req.destroy();
    };
    const cancels = [clock.after(STUCK_MS, () => leave('stuck'))];
    if (leaves?.unit === 'ms') cancels.push(clock.after(leaves.after, () => leave('left')));
    const settle = (end: Received['end']) => {
      for (const cancel of cancels) cancel();
      resolve({ head, body: Buffer.concat(parts), end: broken ?? end });
    };
    req.on('error', () => settle('closed'));
    req.on('response', (res) => {
      head = { status: res.statusCode ?? 0, headers: res.headers };
      res.on('data', (part: Buffer) => {
        if (broken === null) parts.push(part);
        bytes += part.length;
        if (leaves?.unit === 'bytes' && bytes >= leaves.after) leave('left');
      });
      res.on('end', () => settle('ended'));
      res.on('error', () => settle('closed')).on('close', () => settle('closed'));
    });
    req.end(JSON.stringify(bodyOf(request)));
  });
}

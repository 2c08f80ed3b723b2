import { createServer } from 'node:net';
import { messageOf } from '../platform/errors.ts';
import type { ElectronApi } from './electron-api.ts';

type StartChoice =
  | { readonly kind: 'retry' }
  /** The port is saved, so that apps find the gateway there from now on. */
  | { readonly kind: 'port'; readonly port: number }
  | { readonly kind: 'quit' };

interface StartFailureDeps {
  readonly electron: Pick<ElectronApi, 'dialog' | 'shell'>;
  readonly dataDirectory: string;
  /** A port to offer if the error is that the gateway's own is taken; null otherwise. */
  readonly otherPort: (error: unknown) => Promise<number | null>;
}

/** Says why the gateway does not start, and asks what to do. Nothing runs yet that a modal box could block. */
async function askAfterFailure(
  { electron, dataDirectory, otherPort }: StartFailureDeps,
  error: unknown,
): Promise<StartChoice> {
  const port = await otherPort(error);
  const choices: readonly (readonly [string, StartChoice | null])[] = [
    ['Try again', { kind: 'retry' }],
    ...(port === null ? [] : [[`Use port ${port}`, { kind: 'port', port }] as const]),
    ['Open settings folder', null],
    ['Quit', { kind: 'quit' }],
  ];
  const hint = port === null ? '' : ' Apps that call this gateway then need the new port as well.';
  for (;;) {
    const { response } = await electron.dialog.showMessageBox({
      type: 'error',
      message: 'Switchyard could not start',
      detail: `${messageOf(error)}${hint}\n\nSettings are in ${dataDirectory}.`,
      buttons: choices.map(([text]) => text),
      defaultId: 0,
      cancelId: choices.length - 1,
    });
    const choice = choices[response]?.[1] ?? null;
    if (choice !== null) return choice;
    await electron.shell.openPath(dataDirectory);
  }
}

/** Calls `start`, with the port that the owner has chosen if any, until it succeeds or the owner quits. */
export async function startOrAsk(
  deps: StartFailureDeps,
  start: (port: number | null) => Promise<void>,
): Promise<'started' | 'quit'> {
  for (let port: number | null = null; ;) {
    try {
      await start(port);
      return 'started';
    } catch (error) {
      const choice = await askAfterFailure(deps, error);
      if (choice.kind === 'quit') return 'quit';
      port = choice.kind === 'port' ? choice.port : null;
    }
  }
}

/** Outside the default ports of gateways and agents. */
const FIRST = 47_910;
const LAST = 47_999;

/** A free loopback port for a gateway whose own is taken; null if none is free. */
export async function freePort(first = FIRST, last = LAST): Promise<number | null> {
  for (let port = first; port <= last; port++) {
    if (await isFree(port)) return port;
  }
  return null;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () =>
      server.close(() => resolve(true)),
    );
  });
}

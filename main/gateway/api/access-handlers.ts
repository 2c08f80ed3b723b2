import type { Request, Response } from 'express';
import { controlProof, isNonce, ownEnd } from '../../platform/control-proof.ts';
import { sendJson } from '../../platform/http/responses.ts';
import { processFacts } from '../../platform/process.ts';
import type { Browsers } from '../auth/browsers.ts';
import { sendError } from '../http/responses.ts';

/** What an owner needs for troubleshooting. */
export interface AboutApp {
  readonly dataDirectory: string;
  /** The end of the log file, oldest line first; null if the log goes elsewhere. */
  readonly logLines: (count: number) => Promise<readonly string[] | null>;
}

interface AccessDeps {
  readonly browsers: Browsers;
  readonly about: AboutApp;
  readonly controlToken: string;
  readonly app: () => { readonly version: string };
}

const DEFAULT_LINES = 200;
const MAX_LINES = 2_000;

export function accessHandlers({ browsers, about, controlToken, app }: AccessDeps) {
  return {
    prove: (req: Request, res: Response) => {
      const { nonce } = req.query;
      if (isNonce(nonce)) {
        sendJson(res, 200, { proof: controlProof(controlToken, nonce, ownEnd(req.socket)) });
        return;
      }
      const message = "'nonce' must be 64 lower-case hex digits.";
      sendError(res, { status: 400, code: 'invalid_request', message, param: 'nonce' });
    },
    browsers: (_req: Request, res: Response) => sendJson(res, 200, { data: browsers.list() }),
    remember: async (req: Request, res: Response) => {
      const { name } = (req.body ?? {}) as { readonly name?: unknown };
      if (typeof name !== 'string' || name.trim() === '') {
        const message = "'name' must be a non-empty string, such as the browser's name.";
        sendError(res, { status: 400, code: 'invalid_request', message, param: 'name' });
        return;
      }
      sendJson(res, 201, await browsers.remember(name.trim()));
    },
    forget: async (req: Request, res: Response) => {
      const id = String(req.params['id']);
      if (await browsers.forget(id)) {
        sendJson(res, 200, { id });
        return;
      }
      const message = `There is no remembered browser "${id.slice(0, 100)}".`;
      sendError(res, { status: 404, code: 'not_found', message });
    },
    about: (_req: Request, res: Response) =>
      sendJson(res, 200, {
        version: app().version,
        dataDirectory: about.dataDirectory,
        ...processFacts(),
      }),
    logs: async (req: Request, res: Response) => {
      const lines = Number(req.query['lines'] ?? DEFAULT_LINES);
      const count = Number.isInteger(lines) && lines > 0 ? Math.min(lines, MAX_LINES) : null;
      if (count === null) {
        const message = "'lines' must be a whole number of at least 1.";
        sendError(res, { status: 400, code: 'invalid_request', message, param: 'lines' });
        return;
      }
      sendJson(res, 200, { lines: await about.logLines(count) });
    },
  };
}

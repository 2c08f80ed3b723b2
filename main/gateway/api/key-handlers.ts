import type { Request, Response } from 'express';
import type { KeyList } from '#shared/keys.ts';
import type { Config } from '../../config/schema.ts';
import { isoTime } from '../../platform/dates.ts';
import { sendJson } from '../../platform/http/responses.ts';
import type { NamedKeys } from '../auth/named-keys.ts';
import { sendError } from '../http/responses.ts';

interface KeyDeps {
  readonly keys: NamedKeys;
  readonly config: () => Config;
}

export function keyHandlers({ keys, config }: KeyDeps) {
  return {
    list: (_req: Request, res: Response) => {
      const list: KeyList = {
        keys: keys.list().map(({ name, createdAt, lastUsedAt }) => ({
          name,
          createdAt: isoTime(createdAt),
          lastUsedAt: lastUsedAt === null ? null : isoTime(lastUsedAt),
        })),
        unnamed: config().gateway.apiKeys.length,
      };
      sendJson(res, 200, list);
    },
    add: (req: Request, res: Response) => {
      const body = req.body as { readonly name?: unknown } | undefined;
      const added = keys.add(body?.name);
      if (added.kind === 'refused') sendError(res, added.error);
      else sendJson(res, 201, { name: added.name, key: added.key });
    },
    revoke: (req: Request, res: Response) => {
      const name = String(req.params['name']);
      const revoked = keys.revoke(name);
      if (revoked.kind === 'refused') sendError(res, revoked.error);
      else sendJson(res, 200, { name });
    },
  };
}

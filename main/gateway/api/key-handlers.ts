import type { Request, Response } from 'express';
import type { KeyList, KeyLimitUse } from '#shared/keys.ts';
import type { Config } from '../../config/schema.ts';
import { isoTime } from '../../platform/dates.ts';
import { sendJson } from '../../platform/http/responses.ts';
import type { NamedKeys } from '../auth/named-keys.ts';
import { sendError } from '../http/responses.ts';
import type { KeyLimits } from '../usage/limits.ts';

interface KeyDeps {
  readonly keys: NamedKeys;
  readonly keyLimits: Pick<KeyLimits, 'of'>;
  readonly config: () => Config;
}

export function keyHandlers({ keys, keyLimits, config }: KeyDeps) {
  const limitsOf = (key: string): readonly KeyLimitUse[] =>
    keyLimits.of(key).map(({ name, limit, used, until }) => {
      return { name, limit, used, resetsAt: isoTime(until) };
    });
  return {
    list: (_req: Request, res: Response) => {
      const list: KeyList = {
        keys: keys.list().map(({ name, createdAt, lastUsedAt }) => ({
          name,
          createdAt: isoTime(createdAt),
          lastUsedAt: lastUsedAt === null ? null : isoTime(lastUsedAt),
          limits: limitsOf(name),
        })),
        unnamed: config().gateway.apiKeys.length,
      };
      sendJson(res, 200, list);
    },
    add: (req: Request, res: Response) => {
      const body = req.body as { readonly name?: unknown; readonly limits?: unknown } | undefined;
      const added = keys.add(body?.name, body?.limits);
      if (added.kind === 'refused') sendError(res, added.error);
      else sendJson(res, 201, { name: added.name, key: added.key });
    },
    limit: (req: Request, res: Response) => {
      const name = String(req.params['name']);
      const body = req.body as { readonly limits?: unknown } | undefined;
      const limited = keys.limit(name, body?.limits);
      if (limited.kind === 'refused') sendError(res, limited.error);
      else sendJson(res, 200, { name, limits: limitsOf(name) });
    },
    revoke: (req: Request, res: Response) => {
      const name = String(req.params['name']);
      const revoked = keys.revoke(name);
      if (revoked.kind === 'refused') sendError(res, revoked.error);
      else sendJson(res, 200, { name });
    },
  };
}

import { SIGN_IN_LINK } from '#shared/lifetimes.ts';
import { answered, route, type Route, textAt } from '../../platform/http/routes.ts';
import type { Sessions } from '../auth/sessions.ts';
import { type GatewayError, refused } from '../http/errors.ts';

interface SessionDeps {
  readonly sessions: Sessions;
  readonly isDemo: boolean;
  readonly controlLink: () => string;
  readonly app: () => { readonly command: string };
}

export function sessionRoutes(deps: SessionDeps): readonly Route[] {
  const { sessions, isDemo, controlLink, app } = deps;
  return [
    route('POST', '/api/v1/sessions', 'anyone', async ({ json }) => {
      const token = await sessions.redeem(textAt(json, 'code') ?? '');
      if (token === null) return refused(badCode(app().command));
      return answered({ token, keep: isDemo ? 'browser' : 'tab' });
    }),
    route('POST', '/api/v1/sessions/codes', 'control', () => answered({ link: controlLink() })),
  ];
}

function badCode(command: string): GatewayError {
  const message = `This link has already been used or is over ${SIGN_IN_LINK.words} old; run "${command} open" for a new one.`;
  return { status: 401, code: 'invalid_code', message };
}

import type { Access } from '../../main/platform/http/routes.ts';

const ENDPOINTS = [
  'chat/completions',
  'completions',
  'embeddings',
  'rerank',
  'responses',
  'audio/speech',
  'audio/transcriptions',
];

/** Every route of the gateway port by who may call it; those of Anthropic are in error-shapes.test.ts. */
const BY_ACCESS: Readonly<Record<Access, readonly string[]>> = {
  anyone: [
    'GET /',
    'GET /healthz',
    'GET /readyz',
    `GET /api/v1/proof?nonce=${'a'.repeat(64)}`,
    'POST /api/v1/sessions',
    'GET /install',
    'GET /install.ps1',
    'GET /install/package.tgz',
  ],
  callers: [
    ...ENDPOINTS.flatMap((name) => [`POST /v1/${name}`, `POST /api/v1/${name}`]),
    'GET /v1/models',
    'GET /api/v1/models',
    'GET /api/v1/models/asked',
    'GET /v1/models/name',
    'GET /api/v1/models/org/name',
    'GET /api/v1/status',
    'GET /api/v1/history',
    'GET /api/v1/requests',
    'GET /api/v1/requests/req_unknown',
    'GET /api/v1/events',
    'GET /api/v1/snapshot',
    'GET /api/v1/agent',
    'GET /api/v1/providers',
    'GET /api/v1/providers/notes',
    'GET /api/v1/providers/prv_unknown',
    'GET /api/v1/providers/prv_unknown/history',
    'GET /metrics',
  ],
  control: [
    'GET /api/v1/settings',
    'PATCH /api/v1/settings',
    'GET /api/v1/sharing',
    'PUT /api/v1/sharing',
    'GET /api/v1/keys',
    'POST /api/v1/keys',
    'PATCH /api/v1/keys/laptop',
    'DELETE /api/v1/keys/laptop',
    'GET /api/v1/browsers',
    'POST /api/v1/browsers',
    'DELETE /api/v1/browsers/brw_unknown',
    'POST /api/v1/sessions/codes',
    'GET /api/v1/about',
    'GET /api/v1/logs',
    'GET /api/v1/install',
    'POST /api/v1/warmup',
    'POST /api/v1/windows',
    'POST /api/v1/windows/undo',
    'POST /api/v1/circuits/hosted_a/reset',
    'POST /api/v1/upstreams/hosted_a/swap',
    'POST /api/v1/upstreams/hosted_b/test',
    'POST /api/v1/upstreams/hosted_b/models',
    'POST /api/v1/providers/enrollments',
    'DELETE /api/v1/providers/prv_unknown',
    'PUT /api/v1/providers/prv_unknown/note',
    'POST /api/v1/providers/prv_unknown/verify',
    ...['mode', 'join', 'leave', 'free', 'models'].map((what) => `POST /api/v1/agent/${what}`),
  ],
  agents: ['POST /api/v1/providers/enroll', 'POST /api/v1/providers/heartbeat'],
};

interface Route {
  readonly method: string;
  readonly path: string;
  readonly access: Access;
}

/** What is answered to GET is answered to HEAD as well. */
export const ROUTES: readonly Route[] = Object.entries(BY_ACCESS).flatMap(([access, routes]) =>
  routes.map((route) => {
    const [method = '', path = ''] = route.split(' ');
    return { method, path, access: access as Access };
  }),
);

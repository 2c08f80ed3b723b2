import type { Row } from './field.ts';

/** How this machine serves gateways. */
export const AGENT_ROWS: readonly Row[] = [
  {
    key: 'enabled',
    kind: 'flag',
    label: 'Run the agent',
    hint: 'Off: this machine serves no gateway.',
    env: 'AGENT',
    fallback: true,
  },
  {
    key: 'engineUrl',
    kind: 'address',
    label: 'Engine to serve',
    hint: 'Empty: it is looked for at the usual ports.',
    env: 'ENGINE_URL',
    fallback: null,
  },
  {
    key: 'host',
    kind: 'text',
    label: 'Listen on',
    hint: 'For a gateway elsewhere: this machine’s address in its network.',
    env: 'AGENT_HOST',
    fallback: '127.0.0.1',
  },
  {
    key: 'ports',
    kind: 'ports',
    label: 'Ports',
    hint: 'Separated by commas. Gateways look at 3001 and 47901.',
    env: 'AGENT_PORTS',
    fallback: [3001, 47_901],
  },
  {
    key: 'registryUrl',
    kind: 'address',
    label: 'Report to',
    hint: 'Empty: to this gateway, or the one that it has joined.',
    env: 'REGISTRY_URL',
    fallback: null,
  },
  {
    key: 'enrollToken',
    kind: 'secret',
    label: 'Token to join with',
    hint: 'From the line of “Add a machine” there. It works once.',
    env: 'ENROLL_TOKEN',
    fallback: null,
  },
];

/** Where the gateway itself is, and for whom. */
export const GATEWAY_ROWS: readonly Row[] = [
  {
    key: 'host',
    kind: 'text',
    label: 'Listen on',
    hint: 'Beyond this machine only with keys.',
    env: 'HOST',
    fallback: '127.0.0.1',
  },
  {
    key: 'port',
    kind: 'count',
    label: 'Port',
    hint: 'Apps have it in their base URL.',
    env: 'PORT',
    fallback: 47_900,
  },
  {
    key: 'apiKeys',
    kind: 'secrets',
    label: 'Keys for callers',
    hint: 'Separated by commas; they replace all that are set. Every app then needs one.',
    env: 'API_KEYS',
    fallback: null,
  },
  {
    key: 'maxBodyBytes',
    kind: 'count',
    label: 'Largest request',
    hint: 'In bytes; a larger one is refused.',
    env: 'MAX_BODY_BYTES',
    fallback: 33_554_432,
  },
  {
    key: 'maxBodiesInFlightBytes',
    kind: 'count',
    label: 'All requests at once',
    hint: 'In bytes, the bodies of all that are in flight together; beyond that callers are told to come back.',
    env: 'MAX_BODIES_IN_FLIGHT_BYTES',
    fallback: 268_435_456,
  },
];

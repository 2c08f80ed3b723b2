import type { ReactNode } from 'react';
import { counted, formatCount } from '../format.ts';
import { FAILURES, MACHINES, KEYS } from './nouns.ts';

export const settings = {
  title: 'Settings',
  text: 'Changes apply immediately unless noted. Values set by environment variables must be changed there.',
  subject: 'The settings',
  all: 'All settings',
  readOnly: 'This page is read-only',
  readOnlyText:
    'Sign in to view and change settings. Run this on the gateway’s machine; it opens the dashboard, signed in:',
  unsaved: 'not saved',
  changed: 'changed',
  sources: {
    env: 'environment',
    file: 'set here',
    secretFile: 'in a file',
    keychain: 'in the keychain',
    notSet: 'not set',
    default: 'default',
  },
  remove: 'Remove',
  toDefault: 'Use default',
  of: (label: string) => `: ${label}`,
  held: (variable: ReactNode) => <>Set by {variable}; change it there and restart.</>,
  goesBack: 'Returns to the default when saved.',
  keepsHidden: 'Leave empty to keep it.',
  afterRestart: 'Takes effect after a restart.',
  noDefault: 'none',
  default: (value: string) => `default: ${value}`,
  units: {
    celsius: '°C',
    ms: 'ms',
    msAs: (duration: string) => `ms = ${duration}`,
    bytes: 'bytes',
    bytesAs: (mebibytes: number) => `bytes = ${mebibytes} MiB`,
  },
  yourGpus: (label: string) => `Your GPUs (${label})`,
  sections: {
    circuit: 'Circuit breakers',
    routing: 'Routing',
    agent: 'Share this machine',
    gateway: 'Gateway',
  } as Readonly<Record<string, string>>,
  summary: {
    notSetUp: 'not set up',
    machines: (count: number) => `served by ${counted(count, MACHINES)}`,
    circuit: (failures: number, cooldown: string) =>
      `skip after ${counted(failures, FAILURES)}, retry after ${cooldown}`,
    off: 'switched off',
    serves: (engine: string) => `serves ${engine}`,
    detects: 'detects its engine automatically',
    listens: (host: string, port: string) =>
      port === '0' ? `${host}, any free port` : `${host}, port ${port}`,
    routing: (isFree: boolean, idleTimeout: string) =>
      `${isFree ? 'local only' : 'paid upstreams allowed'} · idle timeout ${idleTimeout}`,
  },
  save: {
    save: 'Save',
    discard: 'Discard',
    unsaved: 'Not saved yet',
    saving: 'Saving…',
    later: 'Saved; takes effect after a restart',
    saved: 'Saved and applied',
    unchanged: 'Nothing to save',
    refusedAtField: 'Not saved: fix the highlighted field',
    refused: (message: string) => `Not saved. ${message}`,
  },
  services: 'Choose a service…',
  search: 'Search settings',
  nothingFound: (query: string) => `No setting matches “${query}”.`,
  more: 'More',
  groups: { connection: 'Connection', price: 'Price and budget', advanced: 'Advanced' },
  test: 'Test',
};

export const keys = {
  title: 'Keys for apps',
  text: 'Named keys show which app made a request. Once a key exists, every app needs one: enter it where the app asks for an API key.',
  revoke: (name: string) => (
    <>
      Revoke<span className="unseen"> {name}</span>…
    </>
  ),
  added: (name: string) => `Key “${name}” created. Copy it now: it is not shown again.`,
  key: 'key',
  revokeTitle: (name: string) => `Revoke ${name}?`,
  revokeText: (isLast: boolean) =>
    `Apps that use this key are refused from now on.${isLast ? ' It is the last one: after that, apps on this machine need no key.' : ''}`,
  revokeNow: (name: string) => `Revoke ${name}`,
  form: 'New key',
  name: 'Name of the app',
  nameExample: 'laptop',
  create: 'Create key',
  none: 'none: any app on this machine may connect',
  count: (named: number, unnamed: number) =>
    [
      counted(named, KEYS),
      ...(unnamed === 0 ? [] : [`${unnamed} unnamed in Client API keys`]),
    ].join(', '),
  unused: (created: string) => `created ${created}, not used yet`,
  used: (last: string) => `last used ${last}`,
  limits: {
    open: (name: string) => (
      <>
        Limits<span className="unseen"> for {name}</span>…
      </>
    ),
    title: (name: string) => `Limits for ${name}`,
    text: 'Once a limit is reached, requests with this key get an error until the next day or month. No upstream is called for them.',
    none: 'no limit',
    names: {
      requestsDay: 'Requests per day',
      requestsMonth: 'Requests per month',
      tokensDay: 'Tokens per day',
      tokensMonth: 'Tokens per month',
    },
    used: (name: string, used: number, limit: number) =>
      `${name}: ${formatCount(used)} of ${formatCount(limit)}`,
    near: 'almost used up',
    reached: (until: string) => `used up until ${until}`,
    some: { near: 'a limit is almost used up', reached: 'a limit is used up' },
  },
};

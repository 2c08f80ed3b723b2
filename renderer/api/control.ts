import type { UpstreamId } from '#shared/ids.ts';
import type { AddedKey, KeyList } from '#shared/keys.ts';
import type { DemoFault, UpstreamTest } from '#shared/live.ts';
import type { SettingsView } from '#shared/settings.ts';
import type { Sharing, SharingChanged } from '#shared/sharing.ts';
import {
  type Answer,
  type Caller,
  type Client,
  createCaller,
  jsonBody,
  type Refusal,
} from './client.ts';
import type { SettingsState } from './window-state.ts';

/** Each action resolves with the gateway's error message, or null. */
export interface Control {
  setFault: (id: UpstreamId, fault: DemoFault) => Promise<Refusal | null>;
  resetCircuit: (id: UpstreamId) => Promise<Refusal | null>;
  warmUp: () => Promise<Refusal | null>;
  /** One real call to an upstream; at a paid one it may cost a fraction of a cent. */
  testUpstream: (id: UpstreamId) => Promise<Answer<UpstreamTest>>;
  /** Lists the models at an address, with a key that need not be saved. */
  listModels: (id: UpstreamId, source: ModelSource) => Promise<Answer<readonly string[]>>;
  /** Lists the models that apps may name, over all upstreams. */
  readModels: () => Promise<Answer<readonly string[]>>;
  /** Does nothing without a session. */
  readSettings: () => Promise<void>;
  /** Makes all changes of the tree or none. */
  saveSettings: (tree: object) => Promise<Refusal | null>;
  readonly keys: Keys;
  readonly sharing: SharingApi;
}

interface ModelSource {
  readonly baseUrl: string;
  /** Empty: none. */
  readonly apiKey: string;
}

interface ControlListener {
  /** Called after every answer, because it may have ended the session. */
  readonly answered: () => void;
  readonly settings: (settings: SettingsState) => void;
}

export function createControl(
  client: Pick<Client, 'hasSession' | 'request'>,
  listener: ControlListener,
): Control {
  let saves = 0;

  const { call, order } = createCaller(client, listener.answered);
  const show = (view: unknown): void =>
    listener.settings({ kind: 'read', view: view as SettingsView });

  return {
    keys: createKeys({ call, order }),
    sharing: createSharing({ call }),
    setFault: (id, fault) => order(`/api/v1/demo/faults/${id}`, jsonBody('PUT', { fault })),
    resetCircuit: (id) => order(`/api/v1/circuits/${id}/reset`, { method: 'POST' }),
    warmUp: () => order('/api/v1/warmup', { method: 'POST' }),
    async testUpstream(id) {
      const answer = await call(`/api/v1/upstreams/${id}/test`, { method: 'POST' });
      return answer.ok ? { ok: true, value: answer.value as UpstreamTest } : answer;
    },
    async listModels(id, source) {
      const answer = await call(`/api/v1/upstreams/${id}/models`, jsonBody('POST', source));
      if (!answer.ok) return answer;
      const { models } = answer.value as { readonly models: readonly string[] };
      return { ok: true, value: models };
    },
    async readModels() {
      const answer = await call('/v1/models');
      if (!answer.ok) return answer;
      const { data } = answer.value as { readonly data: readonly { readonly id: string }[] };
      return { ok: true, value: data.map(({ id }) => id) };
    },
    async readSettings() {
      if (!client.hasSession()) return;
      const savesBefore = saves;
      const answer = await call('/api/v1/settings', { method: 'GET' });
      // The answer to a save in the meantime is newer.
      if (saves !== savesBefore) return;
      if (answer.ok) show(answer.value);
      else listener.settings({ kind: 'unreadable', message: answer.refusal.message });
    },
    async saveSettings(tree) {
      const answer = await call('/api/v1/settings', jsonBody('PATCH', tree));
      if (!answer.ok) return answer.refusal;
      saves += 1;
      show(answer.value);
      return null;
    },
  };
}

/** The named keys of apps. */
export interface Keys {
  readonly list: () => Promise<Answer<KeyList>>;
  readonly add: (name: string) => Promise<Answer<AddedKey>>;
  /** Null removes a limit. */
  readonly limit: (
    name: string,
    limits: Readonly<Record<string, number | null>>,
  ) => Promise<Refusal | null>;
  readonly revoke: (name: string) => Promise<Refusal | null>;
}

const KEYS = '/api/v1/keys';

const pathOf = (name: string) => `${KEYS}/${encodeURIComponent(name)}`;

function createKeys({ call, order }: Pick<Caller, 'call' | 'order'>): Keys {
  return {
    list: async () => (await call(KEYS)) as Answer<KeyList>,
    add: async (name) => (await call(KEYS, jsonBody('POST', { name }))) as Answer<AddedKey>,
    limit: (name, limits) => order(pathOf(name), jsonBody('PATCH', { limits })),
    revoke: (name) => order(pathOf(name), { method: 'DELETE' }),
  };
}

/** Reads and changes the addresses at which the gateway listens. */
export interface SharingApi {
  readonly read: () => Promise<Answer<Sharing>>;
  /** Creates a link to the window that works once. */
  readonly newLink: () => Promise<Answer<string>>;
  readonly change: (host: string) => Promise<Answer<SharingChanged>>;
}

const SHARING = '/api/v1/sharing';

function createSharing({ call }: Pick<Caller, 'call'>): SharingApi {
  return {
    read: async () => (await call(SHARING)) as Answer<Sharing>,
    async newLink() {
      const answer = await call('/api/v1/sessions/codes', { method: 'POST' });
      return answer.ok
        ? { ok: true, value: (answer.value as { readonly link: string }).link }
        : answer;
    },
    change: async (host) =>
      (await call(SHARING, jsonBody('PUT', { host }))) as Answer<SharingChanged>,
  };
}

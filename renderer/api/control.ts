import type { HostedId, UpstreamId } from '#shared/ids.ts';
import type { AddedKey, KeyList } from '#shared/keys.ts';
import type { DemoFault, UpstreamTest } from '#shared/live.ts';
import type { SettingsView } from '#shared/settings-view.ts';
import type { Sharing, SharingChange } from '#shared/sharing.ts';
import { type Answer, type Caller, type Client, jsonBody, partOf, type Refusal } from './client.ts';
import type { SettingsState } from './window-state.ts';

export interface ModelSource {
  readonly baseUrl: string;
  /** Empty if there is none. */
  readonly apiKey: string;
}

/** What changes the gateway; actions resolve with its refusal, or null. */
export type Control = ReturnType<typeof createControl>;

export function createControl(
  { hasSession }: Pick<Client, 'hasSession'>,
  { call, part, act }: Caller,
  onSettings: (settings: SettingsState) => void,
) {
  let saves = 0;
  const show = (view: SettingsView): void => onSettings({ kind: 'read', view });
  function saved(answer: Answer<SettingsView>): Refusal | null {
    if (!answer.ok) return answer.refusal;
    saves += 1;
    show(answer.value);
    return null;
  }

  /** Does nothing without a session. */
  async function readSettings(): Promise<void> {
    if (!hasSession()) return;
    const savesBefore = saves;
    const answer = await call<SettingsView>('/api/v1/settings', { method: 'GET' });
    // The answer to a save in the meantime is newer.
    if (saves !== savesBefore) return;
    if (answer.ok) show(answer.value);
    else onSettings({ kind: 'unreadable', message: answer.refusal.message });
  }
  /** Makes or deletes a copy of a model, which changes aliases as well. */
  async function changeWindow(path: string, body: object): Promise<Refusal | null> {
    const refusal = await act(path, jsonBody('POST', body));
    await readSettings();
    return refusal;
  }

  return {
    keys: createKeys({ call, act }),
    sharing: createSharing({ call, part }),
    setFault: (id: UpstreamId, fault: DemoFault) =>
      act(`/api/v1/demo/faults/${id}`, jsonBody('PUT', { fault })),
    setTraffic: (on: boolean) => act('/api/v1/demo/traffic', jsonBody('PUT', { on })),
    resetCircuit: (id: UpstreamId) => act(`/api/v1/circuits/${id}/reset`, { method: 'POST' }),
    /** Two hosted upstreams change places, with their keys. */
    swapUpstreams: async (id: HostedId, other: HostedId): Promise<Refusal | null> =>
      saved(
        await call<SettingsView>(`/api/v1/upstreams/${id}/swap`, jsonBody('POST', { with: other })),
      ),
    /** A hosted upstream is tried before the others for an hour; null ends it. */
    warmUp: () => act('/api/v1/warmup', { method: 'POST' }),
    /** One real call to an upstream; at a paid one it may cost a fraction of a cent. */
    testUpstream: (id: UpstreamId) =>
      call<UpstreamTest>(`/api/v1/upstreams/${id}/test`, { method: 'POST' }),
    /** Lists the models at an address, with a key that need not be saved. */
    listModels: (id: UpstreamId, source: ModelSource) =>
      part<readonly string[]>('models', `/api/v1/upstreams/${id}/models`, jsonBody('POST', source)),
    readModels: async () =>
      partOf(
        await part<readonly { readonly id: string }[]>('data', '/v1/models'),
        (models): readonly string[] => models.map(({ id }) => id),
      ),
    readSettings,
    /** Makes a copy of a model with a larger window. */
    makeCopy: (model: string) => changeWindow('/api/v1/windows', { model }),
    removeCopy: (copy: string) => changeWindow('/api/v1/windows/undo', { copy }),
    /** Makes all changes of the tree or none. */
    saveSettings: async (tree: object): Promise<Refusal | null> =>
      saved(await call<SettingsView>('/api/v1/settings', jsonBody('PATCH', tree))),
  };
}

const KEYS = '/api/v1/keys';

function createKeys({ call, act }: Pick<Caller, 'call' | 'act'>) {
  const pathOf = (name: string) => `${KEYS}/${encodeURIComponent(name)}`;
  return {
    list: () => call<KeyList>(KEYS),
    add: (name: string) => call<AddedKey>(KEYS, jsonBody('POST', { name })),
    /** Null removes a limit. */
    limit: (name: string, limits: Readonly<Record<string, number | null>>) =>
      act(pathOf(name), jsonBody('PATCH', { limits })),
    revoke: (name: string) => act(pathOf(name), { method: 'DELETE' }),
  };
}

const SHARING = '/api/v1/sharing';

function createSharing({ call, part }: Pick<Caller, 'call' | 'part'>) {
  return {
    read: () => call<Sharing>(SHARING),
    newLink: () => part<string>('link', '/api/v1/sessions/codes', { method: 'POST' }),
    change: (host: string) => call<SharingChange>(SHARING, jsonBody('PUT', { host })),
  };
}

import { useEffect, useRef, useState } from 'react';
import type { AddedKey } from '#shared/keys.ts';
import type { SettingView } from '#shared/settings-view.ts';
import type { Sharing } from '#shared/sharing.ts';
import { Button, CodeLine } from '../../ui/buttons.tsx';
import { ErrorText, Form, Select } from '../../ui/fields.tsx';
import { useReading } from '../../ui/use-reading.ts';
import { useWindow } from '../../window-context.ts';
import { WindowLink } from './window-link.tsx';

export const SHARING = 'Share on a network';

interface SharingSectionProps {
  /** The setting of the address. */
  readonly host: SettingView | undefined;
  readonly revision: number;
  readonly onChanged: () => void;
  readonly aimedAt: boolean;
}

export function SharingSection({ host, revision, onChanged, aimedAt }: SharingSectionProps) {
  const { value: now, failure } = useReading(useWindow().actions.sharing.read, revision, null);
  const top = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (aimedAt) top.current?.scrollIntoView();
  }, [aimedAt]);
  return (
    <details className="panel settings-section" ref={top} open={aimedAt}>
      <summary>
        <h2>{SHARING}</h2>
        <span className="settings-summary quiet one-line">
          {now !== null && (now.isShared ? now.url : 'this machine only')}
        </span>
      </summary>
      {now !== null && <SharingForm {...{ now, host, onChanged }} />}
      {now?.isShared === true && <WindowLink url={now.url} />}
      <ErrorText text={failure?.refusal.message ?? null} />
    </details>
  );
}

const LOOPBACK = /^(localhost|127\.|\[?::1)/;

function SharingForm({
  now,
  host: setting,
  onChanged,
}: Pick<SharingSectionProps, 'host' | 'onChanged'> & { readonly now: Sharing }) {
  const { keys, sharing } = useWindow().actions;
  const [host, setHost] = useState(now.host);
  const [added, setAdded] = useState<AddedKey | null>(null);
  const [done, setDone] = useState<string | null>(null);
  const [error, setError] = useState<string | null>(null);
  const isHeld = setting?.source === 'env';

  /** The key comes first: the gateway is never reachable from outside without one. */
  const apply = async (): Promise<string | null> => {
    const isHereOnly = LOOPBACK.test(host);
    const known = await keys.list();
    if (!known.ok) return known.refusal.message;
    if (!isHereOnly && known.value.keys.length + known.value.unnamed === 0) {
      const key = await keys.add('network');
      if (!key.ok) return key.refusal.message;
      setAdded(key.value);
    }
    const changed = await sharing.change(host);
    if (!changed.ok) return changed.refusal.message;
    const { applied, url } = changed.value;
    const place = isHereOnly ? 'this machine only' : url;
    setDone(applied === 'now' ? `Now open to ${place}.` : `Saved. Restart to open it to ${place}.`);
    onChanged();
    return null;
  };
  const named = now.addresses.map(
    ({ address, interfaceName }) => [address, `${address} (${interfaceName})`] as const,
  );
  const places = new Map([
    [now.host, now.host],
    ['127.0.0.1', 'This machine only'],
    ...named,
    ['0.0.0.0', 'All networks, also those of later; after a restart'],
  ]);
  return (
    <Form className="sharing" onSend={async () => setError(await apply())}>
      <label className="setup-field" htmlFor="sharing-host">
        <span>Address at which others connect</span>
        <Select
          id="sharing-host"
          value={host}
          disabled={isHeld}
          options={[...places]}
          onChoose={setHost}
        />
      </label>
      <p className="quiet">
        {isHeld ? (
          <>
            Set by <code>{setting.env}</code>; change it there and restart.
          </>
        ) : (
          `Every app then needs a key; the first one is made here. If this machine has a firewall, open port ${new URL(now.url).port || '80'}.`
        )}
      </p>
      <Button type="submit" data-primary disabled={isHeld}>
        Apply
      </Button>
      <ErrorText text={error} />
      <output className="sharing-done">
        {done !== null && <strong>{done}</strong>}
        {added !== null && (
          <>
            Key “{added.name}” created. Copy it now: it is not shown again.
            <CodeLine text={added.key} what="key" />
          </>
        )}
      </output>
    </Form>
  );
}

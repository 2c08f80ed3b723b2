import { useEffect, useRef, useState } from 'react';
import { encode } from 'uqr';
import type { AddedKey } from '#shared/keys.ts';
import type { SettingView } from '#shared/settings.ts';
import type { Sharing } from '#shared/sharing.ts';
import { Button, CodeLine } from '../../ui/buttons.tsx';
import { ErrorText, Form, Select } from '../../ui/fields.tsx';
import { useReading } from '../../ui/use-reading.ts';
import { useWindow } from '../../window-context.ts';

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

const HERE = '127.0.0.1';

const isHereOnly = (host: string): boolean => /^(localhost|127\.|\[?::1)/.test(host);

function SharingForm({
  now,
  host: setting,
  onChanged,
}: Pick<SharingSectionProps, 'host' | 'onChanged'> & { readonly now: Sharing }) {
  const { keys, sharing } = useWindow().actions;
  const [host, setHost] = useState(now.host);
  const [added, setAdded] = useState<AddedKey | null>(null);
  const [said, setSaid] = useState('');
  const [error, setError] = useState<string | null>(null);
  const isHeld = setting?.source === 'env';

  /** The key comes first: the gateway is never reachable from outside without one. */
  const apply = async (): Promise<string | null> => {
    const known = await keys.list();
    if (!known.ok) return known.refusal.message;
    if (!isHereOnly(host) && known.value.keys.length + known.value.unnamed === 0) {
      const key = await keys.add('network');
      if (!key.ok) return key.refusal.message;
      setAdded(key.value);
    }
    const changed = await sharing.change(host);
    if (!changed.ok) return changed.refusal.message;
    const { applied, url } = changed.value;
    const place = isHereOnly(host) ? 'this machine only' : url;
    setSaid(applied === 'now' ? `Now open to ${place}.` : `Saved. Restart to open it to ${place}.`);
    onChanged();
    return null;
  };
  const places = new Map([
    [now.host, now.host],
    [HERE, 'This machine only'],
    ...now.addresses.map(
      ({ address, interfaceName }) => [address, `${address} (${interfaceName})`] as const,
    ),
    ['0.0.0.0', 'All networks, also those of later; after a restart'],
  ]);
  return (
    <Form className="sharing" onSend={async () => setError(await apply())}>
      <label className="setup-field" htmlFor="sharing-host">
        <span>Address at which others connect</span>
        <Select value={host} disabled={isHeld} options={[...places]} onChoose={setHost} />
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
        {said !== '' && <strong>{said}</strong>}
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

/** Creates a link to this window at `url` for a phone or another computer, which works once. */
function WindowLink({ url }: { readonly url: string }) {
  const { newLink } = useWindow().actions.sharing;
  const [link, setLink] = useState<string | null>(null);
  const [error, setError] = useState<string | null>(null);
  const show = async (): Promise<void> => {
    const answer = await newLink();
    setError(answer.ok ? null : answer.refusal.message);
    // The gateway's link has the address for this machine; its code is valid at every address.
    setLink(answer.ok ? `${url}/${new URL(answer.value).hash}` : null);
  };
  return (
    <section className="sharing sharing-link">
      <h3>This dashboard on a phone or another computer</h3>
      <p className="quiet">
        The first person to open this sign-in link can change settings. It works once.
      </p>
      {link !== null && (
        <>
          <QrCode text={link} />
          <CodeLine text={link} what="sign-in link" />
        </>
      )}
      <Button onClick={() => void show()}>
        {link === null ? 'Show the link and its QR code' : 'New link'}
      </Button>
      <ErrorText text={error} />
    </section>
  );
}

/** Light modules that the standard requires around the code. */
const QUIET_ZONE = 4;

/** A QR code, dark on light in both themes, because not every reader accepts inverted ones. */
function QrCode({ text }: { readonly text: string }) {
  const { size, data } = encode(text, { ecc: 'M', border: QUIET_ZONE });
  const path = data
    .flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')))
    .join('');
  return (
    <svg
      className="qr-code"
      aria-label="QR code of the sign-in link"
      viewBox={`0 0 ${size} ${size}`}
    >
      <path d={path} shapeRendering="crispEdges" />
    </svg>
  );
}

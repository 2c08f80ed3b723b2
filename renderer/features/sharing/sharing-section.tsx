import { useEffect, useRef, useState } from 'react';
import type { SettingsView } from '#shared/settings.ts';
import * as t from '../../text/t.ts';
import { ErrorText } from '../../ui/fields.tsx';
import { useReading } from '../../ui/use-reading.ts';
import { useWindow } from '../../window-context.ts';
import { SharingForm } from './sharing-form.tsx';
import { encode } from 'uqr';
import { Button, CodeLine } from '../../ui/buttons.tsx';

interface SharingSectionProps {
  readonly view: SettingsView;
  readonly revision: number;
  readonly onChanged: () => void;
  readonly aimedAt: boolean;
}

const words = t.sharing;

export function SharingSection({ view, revision, onChanged, aimedAt }: SharingSectionProps) {
  const { actions } = useWindow();
  const sharing = useReading(actions.sharing.read, revision, null);
  const keys = useReading(actions.keys.list, revision, null);
  const top = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (aimedAt) top.current?.scrollIntoView();
  }, [aimedAt]);
  const failure = sharing.failure ?? keys.failure;
  const now = sharing.value;
  return (
    <details className="panel settings-section" ref={top} open={aimedAt}>
      <summary>
        <h2>{words.title}</h2>
        <span className="settings-summary">
          {now !== null && (now.isShared ? now.url : words.hereOnly)}
        </span>
      </summary>
      {now !== null && keys.value !== null && (
        <SharingForm
          sharing={now}
          hasKeys={keys.value.keys.length + keys.value.unnamed > 0}
          view={view}
          onChanged={onChanged}
        />
      )}
      {now?.isShared === true && <WindowLink url={now.url} />}
      <ErrorText text={failure?.refusal.message ?? null} />
    </details>
  );
}

const linkWords = t.sharing.link;

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
    <section className="sharing-link">
      <h3>{linkWords.title}</h3>
      <p className="quiet">{linkWords.text}</p>
      {link !== null && (
        <>
          <QrCode text={link} label={linkWords.code} />
          <CodeLine text={link} what={linkWords.what} />
        </>
      )}
      <Button onClick={() => void show()}>
        {link === null ? linkWords.show : linkWords.again}
      </Button>
      <ErrorText text={error} />
    </section>
  );
}

/** Light modules that the standard requires around the code. */
const QUIET_ZONE = 4;

/** A QR code, dark on light in both themes, because not every reader accepts inverted ones. */
function QrCode({ text, label }: { readonly text: string; readonly label: string }) {
  const { size, data } = encode(text, { ecc: 'M', border: QUIET_ZONE });
  const path = data
    .flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')))
    .join('');
  return (
    <svg className="qr-code" aria-label={label} viewBox={`0 0 ${size} ${size}`}>
      <path d={path} shapeRendering="crispEdges" />
    </svg>
  );
}

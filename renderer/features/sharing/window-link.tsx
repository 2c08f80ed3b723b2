import { useState } from 'react';
import { encode } from 'uqr';
import { t } from '../../text/t.ts';
import { Button } from '../../ui/button.tsx';
import { CodeLine } from '../../ui/code-line.tsx';
import { ErrorText } from '../../ui/error-text.tsx';
import { useWindow } from '../../window-context.ts';

const words = t.sharing.link;

/** Creates a link to this window at `url` for a phone or another computer, which works once. */
export function WindowLink({ url }: { readonly url: string }) {
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
      <h3>{words.title}</h3>
      <p className="quiet">{words.text}</p>
      {link !== null && (
        <>
          <QrCode text={link} label={words.code} />
          <CodeLine text={link} what={words.what} />
        </>
      )}
      <Button onClick={() => void show()}>{link === null ? words.show : words.again}</Button>
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

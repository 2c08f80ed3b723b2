import { useState } from 'react';
import { encode } from 'uqr';
import { Button, CodeLine } from '../../ui/buttons.tsx';
import { ErrorText } from '../../ui/fields.tsx';
import { useWindow } from '../../window-context.ts';

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
  const name = 'QR code of the sign-in link';
  return (
    <svg className="qr-code" aria-label={name} viewBox={`0 0 ${size} ${size}`}>
      <path d={path} shapeRendering="crispEdges" />
    </svg>
  );
}

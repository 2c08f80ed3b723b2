import { useRef, useState } from 'react';
import { hashOf } from '../../route.ts';
import { t } from '../../text/t.ts';
import { ControlButton } from '../../ui/button.tsx';
import { ErrorText } from '../../ui/error-text.tsx';
import { useWindow } from '../../window-context.ts';
import { isSameEngine, localUrlOf, plainAddress } from './agent-engine.ts';

const words = t.thisMachine.offer;

/** Offers to make Local use an engine that no gateway can verify. */
export function EngineOffer({ address }: { readonly address: string }) {
  const { data, actions } = useWindow();
  const localUrl = localUrlOf(data.status);
  const place = useRef<HTMLDivElement>(null);
  const [error, setError] = useState<string | null>(null);

  const put = async (): Promise<void> => {
    const refusal = await actions.saveSettings({ local: { baseUrl: address } });
    setError(refusal?.message ?? null);
    // The button disappears once the gateway reports the change.
    if (!refusal) place.current?.focus();
  };

  return (
    <div className="agent-offer" ref={place} tabIndex={-1}>
      {isSameEngine(localUrl, address) ? (
        <p>
          {words.used(
            (text) => (
              <a href={hashOf({ page: 'overview' })}>{text}</a>
            ),
            (text) => (
              <a href={hashOf({ page: 'settings', section: 'local' })}>{text}</a>
            ),
          )}
        </p>
      ) : (
        <>
          <p>
            {words.text(<code>{plainAddress(address)}</code>)}
            {localUrl !== null && words.instead(<code>{plainAddress(localUrl)}</code>)}
          </p>
          <ControlButton data-primary onClick={() => void put()}>
            {words.use}
          </ControlButton>
        </>
      )}
      <ErrorText text={error} />
    </div>
  );
}

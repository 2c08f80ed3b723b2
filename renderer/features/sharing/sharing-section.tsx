import { useEffect, useRef } from 'react';
import type { SettingsView } from '#shared/settings.ts';
import { t } from '../../text/t.ts';
import { ErrorText } from '../../ui/error-text.tsx';
import { useReading } from '../../ui/use-reading.ts';
import { useWindow } from '../../window-context.ts';
import { SharingForm } from './sharing-form.tsx';
import { WindowLink } from './window-link.tsx';

interface SharingSectionProps {
  readonly view: SettingsView;
  readonly revision: number;
  readonly onChanged: () => void;
  /** Whether the address names this section. */
  readonly aimedAt: boolean;
}

const words = t.sharing;

/** The guided set-up for sharing this gateway with other machines. */
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
          {now !== null && (now.isShared ? words.at(now.url) : words.hereOnly)}
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

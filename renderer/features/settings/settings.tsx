import { useEffect } from 'react';
import type { UpstreamReport } from '#shared/status.ts';
import { CodeLine } from '../../ui/code-line.tsx';
import { SettingsSection } from './settings-section.tsx';
import type { Control } from '../../api/control.ts';
import type { SettingsState } from '../../api/window-state.ts';
import type { Drafts } from './draft.ts';
import { sectionsOf } from './settings-table.ts';

interface SettingsProps {
  readonly settings: SettingsState;
  readonly upstreams: readonly UpstreamReport[];
  readonly control: boolean;
  readonly actions: Control;
  /** The section that the address names. */
  readonly opened: string | null;
  readonly drafts: Drafts;
  readonly onDrafts: (change: (drafts: Drafts) => Drafts) => void;
}

/** All settings of the gateway and of this machine. */
export function Settings(props: SettingsProps) {
  const { settings, upstreams, control, actions, opened, drafts, onDrafts } = props;
  const { readSettings } = actions;
  useEffect(() => {
    const read = (): void => void readSettings();
    read();
    // Another window, or an editor, may have changed them meanwhile.
    addEventListener('focus', read);
    return () => removeEventListener('focus', read);
  }, [readSettings]);

  const sections = settings.kind === 'read' ? sectionsOf(settings.view) : [];
  const aimedAt = sections.find(({ id }) => id === opened);
  return (
    <>
      <div className="settings-head">
        <h1>Settings</h1>
        <p className="quiet">
          Changes apply immediately unless noted. Values set by environment variables must be
          changed there.
        </p>
      </div>
      {!control && <TakeControl />}
      {control && settings.kind === 'unreadable' && (
        <section className="panel empty" role="alert">
          <h2>The settings could not be read</h2>
          <p>{settings.message}</p>
          <button type="button" className="button" onClick={() => void readSettings()}>
            Try again
          </button>
        </section>
      )}
      {control && settings.kind === 'unread' && <p className="connecting">Reading…</p>}
      {settings.kind === 'read' && (
        <div className="settings">
          {sections.map((section) => (
            <SettingsSection
              key={section.id}
              {...{ section, upstreams, control, drafts, onDrafts, actions }}
              view={settings.view}
              open={section.id === (aimedAt?.id ?? 'local')}
              aimedAt={section === aimedAt}
              onSave={actions.saveSettings}
            />
          ))}
        </div>
      )}
    </>
  );
}

function TakeControl() {
  return (
    <section className="panel empty" aria-labelledby="take-control">
      <h2 id="take-control">This page is read-only</h2>
      <p>
        Settings can be read and changed with control only. Run this on the gateway’s machine to
        open a window with control:
      </p>
      <CodeLine text="switchyard open" what="command" />
    </section>
  );
}

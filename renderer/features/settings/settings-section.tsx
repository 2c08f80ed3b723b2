import { useEffect, useRef, useState } from 'react';
import { HOSTED_IDS, type HostedId } from '#shared/ids.ts';
import type { SettingsView } from '#shared/settings.ts';
import type { UpstreamReport } from '#shared/status.ts';
import type { Refusal } from '../../api/client.ts';
import type { Control } from '../../api/control.ts';
import { isTestedOnSave, UpstreamTestBar, useUpstreamTest } from './upstream-test.tsx';
import { useSaving } from './use-saving.ts';
import { isDirty, withDraft, withoutSection, type Drafts } from './draft.ts';
import { sectionSummary, sectionTitle } from './setting-text.ts';
import type { Section } from './field.ts';
import { SaveBar } from './save-bar.tsx';
import { SettingField } from './setting-field.tsx';
import { t } from '../../text/t.ts';
import { Modal } from '../../ui/modal.tsx';
import { HostedForm } from '../setup/hosted-form.tsx';

interface SettingsSectionProps {
  readonly section: Section;
  readonly view: SettingsView;
  readonly upstreams: readonly UpstreamReport[];
  readonly control: boolean;
  /** Whether the section is open at first. */
  readonly open: boolean;
  /** The address names the section: scroll to it. */
  readonly aimedAt: boolean;
  readonly drafts: Drafts;
  readonly onDrafts: (change: (drafts: Drafts) => Drafts) => void;
  readonly onSave: (tree: object) => Promise<Refusal | null>;
  readonly actions: Pick<Control, 'saveSettings' | 'testUpstream' | 'listModels'>;
}

/** Settings that are saved together; shows a summary while closed. */
export function SettingsSection(props: SettingsSectionProps) {
  const { section, view, upstreams, control, open, aimedAt, drafts, onDrafts, onSave, actions } =
    props;
  const details = useRef<HTMLDetailsElement>(null);
  const { outcome, save, forget } = useSaving(section, onSave);
  const dirty = isDirty(drafts, section);
  const testing = useUpstreamTest(section, actions);
  const isSetUp = typeof view[section.id]?.['baseUrl']?.value === 'string';
  const hosted = HOSTED_IDS.find((id) => id === section.upstream);
  const clear = (): void => onDrafts((all) => withoutSection(all, section));
  const saveAndTest = async (): Promise<void> => {
    const isTested = isTestedOnSave(section, drafts);
    if (!(await save(drafts))) return;
    clear();
    if (isTested) await testing.run();
  };
  useEffect(() => {
    // Set directly: as a prop, React would close it again with the next report.
    if (open && details.current) details.current.open = true;
    if (aimedAt) details.current?.scrollIntoView({ block: 'nearest' });
  }, [open, aimedAt]);

  return (
    <details ref={details} className="panel settings-section">
      <summary>
        <h2>{sectionTitle(section, upstreams)}</h2>
        <span className="settings-summary">{sectionSummary(section, view)}</span>
        {dirty && <span className="unsaved">{t.settings.unsaved}</span>}
      </summary>
      {hosted !== undefined && (
        <ServiceChoice
          id={hosted}
          {...{ control, actions }}
          label={sectionTitle(section, upstreams)}
        />
      )}
      <form
        noValidate
        aria-label={sectionTitle(section, upstreams)}
        onSubmit={(event) => {
          event.preventDefault();
          void saveAndTest();
        }}
        onReset={(event) => {
          event.preventDefault();
          forget();
          clear();
        }}
      >
        <div className="fields">
          {section.fields.map((field) => {
            const refused = outcome?.kind === 'refused' && outcome.param === field.path;
            return (
              <SettingField
                key={field.path}
                field={field}
                draft={drafts[field.path]}
                error={refused ? outcome.message : null}
                disabled={!control}
                onDraft={(draft) => {
                  forget();
                  onDrafts((all) => withDraft(all, field, draft));
                }}
              />
            );
          })}
        </div>
        <SaveBar section={section} dirty={dirty} disabled={!control} outcome={outcome} />
        {section.upstream !== null && isSetUp && (
          <UpstreamTestBar id={section.upstream} {...{ control, dirty, testing }} />
        )}
      </form>
    </details>
  );
}

interface ServiceChoiceProps {
  readonly id: HostedId;
  readonly label: string;
  readonly control: boolean;
  readonly actions: Pick<Control, 'saveSettings' | 'testUpstream' | 'listModels'>;
}

/** Sets up an upstream as in the first run: a service, its key, a model from its list, and a test. */
function ServiceChoice({ id, label, control, actions }: ServiceChoiceProps) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <p className="service-choice">
      <button type="button" className="button" disabled={!control} onClick={() => setIsOpen(true)}>
        {t.settings.services}
        <span className="unseen">{t.settings.of(label)}</span>
      </button>
      {isOpen && (
        <Modal
          title={t.setup.title(label)}
          closing={t.shell.close}
          onClose={() => setIsOpen(false)}
        >
          <div className="setup-dialog">
            <HostedForm {...{ id, control, actions }} onWorks={() => {}} />
          </div>
        </Modal>
      )}
    </p>
  );
}

import { useEffect, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { assertNever } from '#shared/assert.ts';
import { HOSTED_IDS, type HostedId } from '#shared/ids.ts';
import type { SettingsView } from '#shared/settings.ts';
import type { Refusal } from '../../api/client.ts';
import { t } from '../../text/t.ts';
import { Button } from '../../ui/button.tsx';
import { useWindow } from '../../window-context.ts';
import { SetupDialog } from '../setup/setup-dialog.tsx';
import { costHint, TestResult, useTest } from '../setup/upstream-test.tsx';
import {
  type Drafts,
  isDirty,
  patchOf,
  waitsForRestart,
  withDraft,
  withoutSection,
} from './draft.ts';
import { sectionSummary, sectionTitle, SettingField } from './setting-field.tsx';
import type { Section } from './settings-table.ts';

interface SettingsSectionProps {
  readonly section: Section;
  readonly view: SettingsView;
  /** Whether the section is open at first. */
  readonly open: boolean;
  /** The address names the section: scroll to it. */
  readonly aimedAt: boolean;
  /** The setting that the address names, by its key; it gets the focus. */
  readonly aimedField: string | null;
  readonly drafts: Drafts;
  readonly onDrafts: (change: (drafts: Drafts) => Drafts) => void;
}

/** Settings that are saved together; shows a summary while closed. */
export function SettingsSection(props: SettingsSectionProps) {
  const { section, view, open, aimedAt, aimedField, drafts, onDrafts } = props;
  const { data, control, actions } = useWindow();
  const title = sectionTitle(section, data.status.upstreams);
  const details = useRef<HTMLDetailsElement>(null);
  const { outcome, save, forget } = useSaving(section, actions.saveSettings);
  const dirty = isDirty(drafts, section);
  // Unused in sections without an upstream.
  const testing = useTest(section.upstream ?? 'local');
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
  useEffect(() => {
    if (aimedField !== null) document.getElementById(`${section.id}.${aimedField}`)?.focus();
  }, [section.id, aimedField]);

  return (
    <details ref={details} className="panel settings-section">
      <summary>
        <h2>{title}</h2>
        <span className="settings-summary">
          {sectionSummary(section, view, data.providers?.serving ?? 0)}
        </span>
        {dirty && <span className="unsaved">{t.settings.unsaved}</span>}
      </summary>
      {hosted !== undefined && <ServiceChoice id={hosted} label={title} />}
      <form
        noValidate
        aria-label={title}
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
          <div className="section-test">
            {/* A test would use the saved values, not unsaved input. */}
            <Button
              disabled={!control || dirty || testing.state?.kind === 'running'}
              onClick={() => void testing.run()}
            >
              {t.settings.test}
            </Button>
            {testing.state === null ? (
              <p className="quiet">{costHint(section.upstream)}</p>
            ) : (
              <TestResult state={testing.state} />
            )}
          </div>
        )}
      </form>
    </details>
  );
}

/** Sets up an upstream as in the first run: a service, its key, a model from its list, and a test. */
function ServiceChoice({ id, label }: { readonly id: HostedId; readonly label: string }) {
  const { control } = useWindow();
  const [isOpen, setIsOpen] = useState(false);
  return (
    <p className="service-choice">
      <Button disabled={!control} onClick={() => setIsOpen(true)}>
        {t.settings.services}
        <span className="unseen">{t.settings.of(label)}</span>
      </Button>
      {isOpen && <SetupDialog id={id} label={label} onClose={() => setIsOpen(false)} />}
    </p>
  );
}

interface SaveBarProps {
  readonly section: Section;
  readonly dirty: boolean;
  readonly disabled: boolean;
  readonly outcome: SaveOutcome | null;
}

/** The end of a form: save, discard, and the state. */
function SaveBar({ section, dirty, disabled, outcome }: SaveBarProps) {
  const atField = section.fields.some(
    ({ path }) => outcome?.kind === 'refused' && outcome.param === path,
  );
  return (
    <div className="save-bar">
      <Button type="submit" data-primary={dirty || undefined} disabled={disabled}>
        {t.settings.save.save}
      </Button>
      <output data-kind={outcome?.kind ?? (dirty ? 'dirty' : 'clean')}>
        {outcome ? outcomeText(outcome, atField) : dirty && t.settings.save.unsaved}
      </output>
      <Button type="reset" data-idle={!dirty || undefined}>
        {t.settings.save.discard}
      </Button>
    </div>
  );
}

function outcomeText(outcome: SaveOutcome, atField: boolean): string {
  switch (outcome.kind) {
    case 'saving':
      return t.settings.save.saving;
    case 'saved':
      return outcome.later ? t.settings.save.later : t.settings.save.saved;
    case 'unchanged':
      return t.settings.save.unchanged;
    case 'refused':
      return atField ? t.settings.save.refusedAtField : t.settings.save.refused(outcome.message);
    default:
      return assertNever(outcome, 'outcome');
  }
}

type SaveOutcome =
  | { readonly kind: 'saving' }
  /** `later`: some of it takes effect only after a restart. */
  | { readonly kind: 'saved'; readonly later: boolean }
  | { readonly kind: 'unchanged' }
  | ({ readonly kind: 'refused' } & Refusal);

/** Saves a section, one attempt at a time. */
function useSaving(section: Section, onSave: (tree: object) => Promise<Refusal | null>) {
  const [outcome, setOutcome] = useState<SaveOutcome | null>(null);

  /** Resolves with true once saved; after a refusal the field at fault gets the focus. */
  const save = async (drafts: Drafts): Promise<boolean> => {
    if (outcome?.kind === 'saving') return false;
    if (!isDirty(drafts, section)) {
      setOutcome({ kind: 'unchanged' });
      return false;
    }
    setOutcome({ kind: 'saving' });
    const later = waitsForRestart(drafts, section);
    const refusal = await onSave(patchOf(drafts, section));
    // Rendered synchronously: the focused element and its description must exist.
    flushSync(() =>
      setOutcome(refusal ? { kind: 'refused', ...refusal } : { kind: 'saved', later }),
    );
    if (refusal?.param) document.getElementById(refusal.param)?.focus();
    return refusal === null;
  };

  return { outcome, save, forget: () => setOutcome(null) };
}

const TESTED_KEYS: readonly string[] = ['baseUrl', 'apiKey', 'model', 'headers'];

/** Whether a test follows saving: only if it concerns the calls, and not if it would start a GPU. */
function isTestedOnSave({ id, upstream }: Section, drafts: Drafts): boolean {
  if (upstream === null || upstream === 'ondemand') return false;
  return TESTED_KEYS.some((key) => drafts[`${id}.${key}`] !== undefined);
}

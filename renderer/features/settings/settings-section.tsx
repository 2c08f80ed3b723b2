import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { assertNever } from '#shared/assert.ts';
import { HOSTED_IDS, type HostedId } from '#shared/ids.ts';
import type { SettingsView } from '#shared/settings-view.ts';
import { budgetFault } from '#shared/services.ts';
import type { UpstreamReport } from '#shared/status.ts';
import type { Refusal } from '../../api/client.ts';
import { refusalText } from '../../text/refusal-text.ts';
import { formatMoney } from '../../text/format.ts';
import * as t from '../../text/t.ts';
import { Button } from '../../ui/buttons.tsx';
import { Form } from '../../ui/fields.tsx';
import { useWindow } from '../../window-context.ts';
import { HostedForm } from '../setup/hosted-form.tsx';
import { SetupDialog } from '../setup/setup-dialog.tsx';
import { costHint, TestResult, useTest } from '../setup/upstream-test.tsx';
import {
  type Drafts,
  type Draft,
  isDirty,
  patchOf,
  waitsForRestart,
  withDraft,
  withoutSection,
} from './draft.ts';
import { sectionSummary, sectionTitle, SettingField } from './setting-field.tsx';
import { UpstreamPlace } from './upstream-place.tsx';
import { type Field, type Section, arrangedFields, matchingFields } from './settings-table.ts';

interface SettingsSectionProps {
  readonly section: Section;
  readonly view: SettingsView;
  readonly open: boolean;
  /** The address names the section: scroll to it. */
  readonly aimedAt: boolean;
  /** The setting that the address names, by its key; it gets the focus. */
  readonly aimedField: string | null;
  /** Fields are shown if they match it; empty: all are. */
  readonly query: string;
  readonly drafts: Drafts;
  readonly onDrafts: (change: (drafts: Drafts) => Drafts) => void;
}

export function SettingsSection(props: SettingsSectionProps) {
  const { section, view, open, aimedAt, aimedField, query, drafts, onDrafts } = props;
  const { data, control, actions } = useWindow();
  const title = sectionTitle(section, data.status.upstreams);
  const details = useRef<HTMLDetailsElement>(null);
  const isSearched = query.trim() !== '';
  const found = isSearched ? matchingFields(section, title, query) : section.fields;
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
    // It is set directly, because React would close it again with the next report if it were a prop.
    if (open && details.current) details.current.open = true;
    if (aimedAt) details.current?.scrollIntoView({ block: 'nearest' });
  }, [open, aimedAt]);
  useEffect(() => {
    const { current } = details;
    if (!isSearched || current === null) return undefined;
    const wasOpen = current.open;
    current.open = true;
    return () => void (current.open = wasOpen);
  }, [isSearched]);
  useEffect(() => {
    if (aimedField !== null) document.getElementById(`${section.id}.${aimedField}`)?.focus();
  }, [section.id, aimedField]);

  return (
    <details
      ref={details}
      id={`section-${section.id}`}
      className="panel settings-section"
      hidden={found.length === 0}
    >
      <summary>
        <h2>{title}</h2>
        <span className="settings-summary quiet one-line">
          {sectionSummary(section, view, data.providers.serving)}
        </span>
        {dirty && <span className="unsaved">not saved</span>}
      </summary>
      {hosted !== undefined && (
        <div className="row upstream-place">
          <ServiceChoice id={hosted} label={title} />
          <UpstreamPlace id={hosted} label={title} view={view} isDirty={dirty} />
        </div>
      )}
      <Form
        noValidate
        aria-label={title}
        onSend={saveAndTest}
        onReset={(event) => {
          event.preventDefault();
          forget();
          clear();
        }}
      >
        <SectionFields
          key={String(isSearched)}
          {...{ section, found, aimedField, drafts, outcome }}
          isMoreOpen={isSearched}
          onDraft={(field, draft) => {
            forget();
            onDrafts((all) => withDraft(all, field, draft));
          }}
        />
        <SaveBar {...{ section, dirty, outcome }} />
        {section.upstream !== null && isSetUp && (
          <div className="row section-test">
            {/* A test would use the saved values, not unsaved input. */}
            <Button
              disabled={!control || dirty || testing.state?.kind === 'running'}
              onClick={() => void testing.run()}
            >
              Test
            </Button>
            {testing.state === null ? (
              <p className="quiet">{costHint(section.upstream)}</p>
            ) : (
              <TestResult state={testing.state} />
            )}
          </div>
        )}
      </Form>
    </details>
  );
}

interface SectionFieldsProps {
  readonly section: Section;
  readonly found: readonly Field[];
  readonly aimedField: string | null;
  readonly isMoreOpen: boolean;
  readonly drafts: Drafts;
  readonly outcome: SaveOutcome | null;
  readonly onDraft: (field: Field, draft: Draft) => void;
}

/** The essentials, and what few people set behind "More", in groups. */
function SectionFields(props: SectionFieldsProps) {
  const { section, found, aimedField, isMoreOpen, drafts, outcome, onDraft } = props;
  const { control, data } = useWindow();
  const details = useRef<HTMLDetailsElement>(null);
  const { essential, more } = arrangedFields({ ...section, fields: found });
  const refused = outcome?.kind === 'refused' ? outcome : null;
  const hasMore = more.length > 0;
  const moreFields = more.flatMap(({ fields }) => fields);
  const isAimedAt = moreFields.some(
    ({ key, path }) => key === aimedField || path === refused?.param,
  );
  useLayoutEffect(() => {
    // It is opened before the field gets the focus, and never closed: that is left to the user.
    if (hasMore && (isMoreOpen || isAimedAt) && details.current) details.current.open = true;
  }, [hasMore, isMoreOpen, isAimedAt]);
  const fieldsOf = (fields: readonly Field[]) => (
    <div className="fields">
      {fields.map((field) => (
        <SettingField
          key={field.path}
          field={field}
          draft={drafts[field.path]}
          error={
            refused?.param === field.path
              ? refusalText(refused, { [field.key]: field.label })
              : null
          }
          disabled={!control}
          beside={spentText(field, data.status.upstreams)}
          onDraft={(draft) => onDraft(field, draft)}
        />
      ))}
    </div>
  );
  return (
    <>
      {essential.length > 0 && fieldsOf(essential)}
      {hasMore && (
        <details ref={details} className="more-fields">
          <summary>
            More
            <span className="quiet">
              {more.map(({ name }) => t.settings.groups[name]).join(' · ')}
            </span>
          </summary>
          {more.map(({ name, fields }) => (
            <section key={name}>
              <h3>{t.settings.groups[name]}</h3>
              {fieldsOf(fields)}
            </section>
          ))}
        </details>
      )}
    </>
  );
}

/** What a budget is measured against, or why nothing uses it up; null at other fields. */
function spentText({ section, key }: Field, upstreams: readonly UpstreamReport[]): string | null {
  const report = upstreams.find(({ id }) => id === section);
  const budget = report?.budget;
  const period = key === 'budgetDay' ? 'day' : key === 'budgetMonth' ? 'month' : null;
  if (report === undefined || budget === undefined || budget.period !== period) return null;
  const fault = budgetFault(report);
  if (fault !== null) return fault.happened;
  const spent = formatMoney(budget.spent * 1e9, '').trim();
  return `${spent} spent ${period === 'day' ? 'today' : 'this month'}.`;
}

function ServiceChoice({ id, label }: { readonly id: HostedId; readonly label: string }) {
  const { control } = useWindow();
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <Button disabled={!control} onClick={() => setIsOpen(true)}>
        Choose a service…
        <span className="unseen">{t.settings.of(label)}</span>
      </Button>
      {isOpen && (
        <SetupDialog title={`Set up ${label}`} onClose={() => setIsOpen(false)}>
          <HostedForm hosted={id} />
        </SetupDialog>
      )}
    </>
  );
}

function SaveBar(props: {
  readonly section: Section;
  readonly dirty: boolean;
  readonly outcome: SaveOutcome | null;
}) {
  const { section, dirty, outcome } = props;
  const { control } = useWindow();
  return (
    <div className="row save-bar">
      <Button type="submit" data-primary={dirty || undefined} disabled={!control}>
        {t.settings.save.save}
      </Button>
      <output data-kind={outcome?.kind ?? (dirty ? 'dirty' : 'clean')}>
        {outcome ? outcomeText(outcome, section) : dirty && 'Not saved yet'}
      </output>
      <Button type="reset" data-idle={!dirty || undefined}>
        Discard
      </Button>
    </div>
  );
}

function outcomeText(outcome: SaveOutcome, { fields }: Section): string {
  const { save } = t.settings;
  switch (outcome.kind) {
    case 'saving':
    case 'unchanged':
      return save[outcome.kind];
    case 'saved':
      return outcome.later ? 'Saved; takes effect after a restart' : 'Saved and applied';
    case 'refused': {
      const isAtField = fields.some(({ path }) => outcome.param === path);
      return isAtField ? 'Not saved: fix the highlighted field' : `Not saved. ${outcome.message}`;
    }
    default:
      return assertNever(outcome, 'outcome');
  }
}

type SaveOutcome =
  | { readonly kind: 'saving' | 'unchanged' }
  /** `later`: some of it takes effect only after a restart. */
  | { readonly kind: 'saved'; readonly later: boolean }
  | ({ readonly kind: 'refused' } & Refusal);

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

import { MACHINES, FAILURES } from '../../text/en/nouns.ts';
import { assertNever } from '#shared/assert.ts';
import type { SettingsView } from '#shared/settings-view.ts';
import type { UpstreamReport } from '#shared/status.ts';
import { formatSpan, counted } from '../../text/format.ts';
import * as t from '../../text/t.ts';
import { Switch } from '../../ui/fields.tsx';
import { chosenOf, type Draft, isHidden, isOn, textOf, valueOf } from './draft.ts';
import type { Field, Section } from './settings-table.ts';

interface SettingFieldProps {
  readonly field: Field;
  readonly draft: Draft | undefined;
  readonly error: string | null;
  readonly disabled: boolean;
  /** What its value is compared with; null if there is nothing. */
  readonly beside: string | null;
  readonly onDraft: (draft: Draft) => void;
}

const words = t.settings;

export function SettingField(props: SettingFieldProps) {
  const { field, draft, error, disabled, beside, onDraft } = props;
  const held = field.source === 'env';
  const noteId = `${field.path}-note`;
  const resets = isSaved(field) && draft !== null;
  const goDefault = (): void => {
    onDraft(null);
    // The button disappears, so the field gets the focus.
    document.getElementById(field.path)?.focus();
  };
  return (
    <div
      className="field"
      data-kind={field.kind}
      data-changed={draft !== undefined || undefined}
      data-held={held || undefined}
    >
      {field.kind === 'flag' ? (
        <Switch
          id={field.path}
          label={field.label}
          on={isOn(field, draft)}
          disabled={disabled || held}
          describedBy={noteId}
          onChange={onDraft}
        />
      ) : (
        <label htmlFor={field.path}>{field.label}</label>
      )}
      <span className="field-source quiet">
        {draft === undefined ? sourceWords(field) : 'changed'}
      </span>
      {field.kind !== 'flag' && <Input {...props} held={held} noteId={noteId} />}
      <p id={noteId} className="field-note quiet" data-error={error !== null || undefined}>
        {beside !== null && <strong>{beside} </strong>}
        <Note {...props} held={held} />
      </p>
      {!held && (
        <button
          type="button"
          className="use-default"
          data-idle={!resets || undefined}
          disabled={disabled}
          onClick={goDefault}
        >
          {isNoneByDefault(field) ? 'Remove' : 'Use default'}
          <span className="unseen">{words.of(field.label)}</span>
        </button>
      )}
    </div>
  );
}

interface PartProps extends SettingFieldProps {
  readonly held: boolean;
}

function Input(props: PartProps & { readonly noteId: string }) {
  const { field, draft, error, disabled, onDraft, held, noteId } = props;
  const text = textOf(field, draft);
  const common = {
    id: field.path,
    value: text,
    placeholder: placeholderOf(field, draft),
    readOnly: held || disabled,
    'aria-invalid': error !== null,
    'aria-describedby': noteId,
    autoComplete: 'off',
    spellCheck: false,
  };
  if (field.kind === 'headers') {
    return <textarea {...common} rows={2} onChange={({ target }) => onDraft(target.value)} />;
  }
  if (field.kind === 'choice') {
    const chosen = chosenOf(field, draft);
    return (
      <select
        id={field.path}
        value={chosen}
        disabled={held || disabled}
        aria-invalid={error !== null}
        aria-describedby={noteId}
        onChange={({ target }) => onDraft(target.value)}
      >
        {/* Another version may have saved a value that is unknown here. */}
        {!field.choices.some(({ value }) => value === chosen) && (
          <option value={chosen}>{chosen}</option>
        )}
        {field.choices.map(({ value, label }) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    );
  }
  const unit = unitOf(field, text);
  const isSecret = field.kind === 'secret' || field.kind === 'secrets';
  return (
    <span className="input">
      <input
        {...common}
        type={isSecret ? 'password' : 'text'}
        autoComplete={isSecret ? 'new-password' : 'off'}
        inputMode={INPUT_MODES[field.kind] ?? 'text'}
        onChange={({ target }) => onDraft(target.value)}
      />
      {unit !== '' && <span className="unit">{unit}</span>}
    </span>
  );
}

/** The type of the input, for settings that are not text. */
const INPUT_MODES: Readonly<Partial<Record<Field['kind'], 'url' | 'numeric' | 'decimal'>>> = {
  address: 'url',
  bytes: 'numeric',
  count: 'numeric',
  port: 'numeric',
  amount: 'decimal',
  celsius: 'numeric',
};

function Note({ field, draft, error, held }: PartProps) {
  if (error !== null) return error;
  if (held)
    return (
      <>
        Set by <code>{field.env}</code>; change it there and restart.
      </>
    );
  const isLeft = draft === null && field.kind !== 'choice';
  const later = field.restart ? 'Takes effect after a restart.' : '';
  const hidden = isHidden(field) && isSaved(field);
  const parts =
    isLeft || draft === ''
      ? ['Returns to the default when saved.', later]
      : [
          hintOf(field, draft),
          hidden && draft === undefined ? 'Leave empty to keep it.' : '',
          later,
        ];
  return parts.filter((part) => part !== '').join(' ');
}

const { summary } = words;

export function sourceWords(field: Pick<Field, 'value' | 'source' | 'kind'>): string {
  const { value, source, kind } = field;
  switch (source) {
    case 'env':
      return 'environment';
    case 'file':
      return kind === 'secret' || kind === 'secrets' ? 'in a file' : 'set here';
    case 'keychain':
      return 'in the keychain';
    case 'default':
      return isNone(value) ? 'not set' : 'default';
    default:
      return assertNever(source, 'source');
  }
}

const isSaved = ({ source }: Pick<Field, 'source'>): boolean =>
  source === 'file' || source === 'keychain';

export function placeholderOf(field: Field, draft: Draft | undefined): string {
  const { kind, value } = field;
  if (draft === null || draft === '') return defaultWords(field);
  if (kind === 'headers') return isNone(value) ? '' : JSON.stringify(value);
  if (Array.isArray(value)) return value.join(', ');
  return typeof value === 'string' ? value : '';
}

const defaultWords = (field: Field): string =>
  isNone(field.default) ? 'none' : `default: ${[field.default].flat().join(', ')}`;

/** The unit after a number, with longer times and sizes also in a larger unit. */
export function unitOf(field: Field, text: string): string {
  const value = valueOf(field, text);
  const isNumber = typeof value === 'number';
  switch (field.kind) {
    case 'celsius':
      return '°C';
    case 'milliseconds':
      return isNumber && value >= 1_000 ? `ms = ${formatSpan(value)}` : 'ms';
    case 'bytes':
      return isNumber && value >= MIB
        ? `bytes = ${Math.round((value / MIB) * 10) / 10} MiB`
        : 'bytes';
    default:
      return '';
  }
}

const MIB = 2 ** 20;

/** For a choice, the meaning of the chosen value. */
export function hintOf(field: Field, draft: Draft | undefined): string {
  const chosen = chosenOf(field, draft);
  return field.choices.find(({ value }) => value === chosen)?.meaning ?? field.meaning;
}

export function sectionTitle(
  { id, upstream }: Section,
  upstreams: readonly UpstreamReport[],
): string {
  const label = upstreams.find((report) => report.id === upstream)?.label ?? id;
  return upstream === null ? (words.sections[id] ?? id) : label;
}

/** The main values of a section in one line, shown while it is closed; `machines` of the pool serve `local` now. */
export function sectionSummary(
  { id, upstream }: Section,
  view: SettingsView,
  machines: number,
): string {
  const value = (key: string): unknown => view[id]?.[key]?.value;
  const ms = (key: string): string => formatSpan(Number(value(key)));
  if (upstream !== null) {
    const parts = [value('model'), value('baseUrl')].filter((part) => typeof part === 'string');
    if (value('baseUrl') !== null) return parts.join(' · ');
    return upstream === 'local' && machines > 0
      ? `served by ${counted(machines, MACHINES)}`
      : 'not set up';
  }
  if (id === 'circuit') {
    return `pause after ${counted(Number(value('failThreshold')), FAILURES)}, try again after ${ms('cooldownMs')}`;
  }
  if (id === 'agent') {
    if (value('enabled') === false) return 'switched off';
    const engine = value('engineUrl');
    return typeof engine === 'string' ? `serves ${engine}` : 'detects its engine automatically';
  }
  if (id === 'gateway') {
    return summary.listens(String(value('host')), String(value('port')));
  }
  if (id !== 'routing') return '';
  return `${value('forceZero') === true ? 'never spends money' : 'may spend money'} · idle timeout ${ms('idleTimeoutMs')}`;
}

/** Whether there is no value, an empty list or no headers. */
function isNone(value: unknown): boolean {
  if (value === null) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

/** The default is empty, so the button reads "Remove". */
const isNoneByDefault = (field: Field): boolean => isNone(field.default);

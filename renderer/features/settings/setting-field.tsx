import { chosenOf, isHidden, isOn, textOf, type Draft } from './draft.ts';
import {
  hintOf,
  isNoneByDefault,
  isSaved,
  placeholderOf,
  sourceWords,
  unitOf,
} from './setting-text.ts';
import type { Field, Choice } from './field.ts';
import { Switch } from '../../ui/switch.tsx';
import { t } from '../../text/t.ts';

interface SettingFieldProps {
  readonly field: Field;
  readonly draft: Draft | undefined;
  /** Why the gateway refused it. */
  readonly error: string | null;
  readonly disabled: boolean;
  readonly onDraft: (draft: Draft) => void;
}

const words = t.settings;

export function SettingField(props: SettingFieldProps) {
  const { field, draft, error, disabled, onDraft } = props;
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
      <span className="field-source">
        {draft === undefined ? sourceWords(field) : words.changed}
      </span>
      {field.kind !== 'flag' && <Input {...props} held={held} noteId={noteId} />}
      <p id={noteId} className="field-note" data-error={error !== null || undefined}>
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
          {isNoneByDefault(field) ? words.remove : words.toDefault}
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
    const { choices } = field;
    const chosen = chosenOf(field, draft);
    return (
      <ChoiceField
        {...{ choices, chosen, noteId }}
        id={field.path}
        invalid={error !== null}
        disabled={held || disabled}
        onChange={onDraft}
      />
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
        inputMode={INPUT_MODES[field.kind]}
        onChange={({ target }) => onDraft(target.value)}
      />
      {unit !== '' && <span className="unit">{unit}</span>}
    </span>
  );
}

const INPUT_MODES = {
  address: 'url',
  text: 'text',
  list: 'text',
  secret: 'text',
  secrets: 'text',
  milliseconds: 'text',
  bytes: 'numeric',
  count: 'numeric',
  port: 'numeric',
  percent: 'numeric',
  amount: 'decimal',
  celsius: 'numeric',
  ports: 'text',
  flag: 'none',
} as const;

function Note({ field, draft, error, held }: PartProps) {
  if (error !== null) return error;
  if (held) return words.held(<code>{field.env}</code>);
  const isLeft = draft === null && field.kind !== 'choice';
  const later = field.restart ? words.afterRestart : '';
  const hidden = isHidden(field) && isSaved(field);
  const parts =
    isLeft || draft === ''
      ? [words.goesBack, later]
      : [hintOf(field, draft), hidden && draft === undefined ? words.keepsHidden : '', later];
  return parts.filter((part) => part !== '').join(' ');
}

interface ChoiceFieldProps {
  readonly id: string;
  readonly choices: readonly Choice[];
  readonly chosen: string;
  readonly noteId: string;
  readonly invalid: boolean;
  readonly disabled: boolean;
  readonly onChange: (value: string) => void;
}

function ChoiceField(props: ChoiceFieldProps) {
  const { id, choices, chosen, noteId, invalid, disabled, onChange } = props;
  const isKnown = choices.some(({ value }) => value === chosen);
  return (
    <select
      id={id}
      value={chosen}
      disabled={disabled}
      aria-invalid={invalid}
      aria-describedby={noteId}
      onChange={({ target }) => onChange(target.value)}
    >
      {/* Another version may have saved a value that is unknown here. */}
      {!isKnown && <option value={chosen}>{chosen}</option>}
      {choices.map(({ value, label }) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
    </select>
  );
}

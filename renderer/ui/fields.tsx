import { type ComponentProps, useId } from 'react';
import { formatCount } from '../text/format.ts';

interface FormProps extends Omit<ComponentProps<'form'>, 'onSubmit'> {
  readonly onSend: () => unknown;
}

export function Form({ onSend, ...form }: FormProps) {
  return (
    <form
      {...form}
      onSubmit={(event) => {
        event.preventDefault();
        void onSend();
      }}
    />
  );
}

interface SelectProps<T extends string> extends Omit<ComponentProps<'select'>, 'onChange'> {
  readonly value: T;
  /** Each value with its word. */
  readonly options: readonly (readonly [value: T, word: string])[];
  readonly onChoose: (value: T) => void;
}

export function Select<T extends string>({ options, onChoose, ...select }: SelectProps<T>) {
  return (
    <select
      {...select}
      onChange={({ target }) => {
        const chosen = options[target.selectedIndex];
        if (chosen !== undefined) onChoose(chosen[0]);
      }}
    >
      {options.map(([value, word]) => (
        <option key={value} value={value}>
          {word}
        </option>
      ))}
    </select>
  );
}

interface FiltersProps<T extends string> {
  readonly label: string;
  readonly choices: readonly T[];
  readonly chosen: T;
  readonly words: Readonly<Record<T, string>>;
  readonly counts?: Readonly<Record<T, number>>;
  readonly hash: (choice: T) => string;
}

/** A row of links, of which one is chosen. */
export function Filters<T extends string>(props: FiltersProps<T>) {
  const { label, choices, chosen, words, counts, hash } = props;
  return (
    <nav className="filters" aria-label={label}>
      {choices.map((each) => (
        <a key={each} href={hash(each)} aria-current={each === chosen ? 'true' : undefined}>
          {words[each]}{' '}
          {counts && <span className="filter-count">{formatCount(counts[each])}</span>}
        </a>
      ))}
    </nav>
  );
}

interface TextFieldProps extends Omit<ComponentProps<'input'>, 'onChange'> {
  readonly label: string;
  readonly onChange: (text: string) => void;
}

export function TextField({ label, onChange, ...input }: TextFieldProps) {
  return (
    <label className="setup-field">
      <span>{label}</span>
      <input
        autoComplete="off"
        spellCheck={false}
        {...input}
        onChange={({ target }) => onChange(target.value)}
      />
    </label>
  );
}

interface SwitchProps {
  readonly id?: string;
  readonly label: string;
  readonly on: boolean;
  readonly disabled: boolean;
  readonly describedBy?: string | undefined;
  readonly onChange: (on: boolean) => void;
}

export function Switch({ id, label, on, disabled, describedBy, onChange }: SwitchProps) {
  const ownId = useId();
  return (
    <span className="switch">
      <input
        id={id ?? ownId}
        type="checkbox"
        checked={on}
        disabled={disabled}
        aria-describedby={describedBy}
        onChange={({ target }) => onChange(target.checked)}
      />
      <label htmlFor={id ?? ownId}>{label}</label>
      <span className="switch-word" aria-hidden="true">
        {on ? 'on' : 'off'}
      </span>
    </span>
  );
}

export function ErrorText({ text }: { readonly text: string | null }) {
  return text === null ? null : (
    <p className="error-text" role="alert">
      {text}
    </p>
  );
}

import { type ReactNode, useId, useState } from 'react';
import type { AgentView } from '#shared/agent.ts';
import * as t from '../../text/t.ts';
import { ErrorText, Switch } from '../../ui/fields.tsx';
import { READ_ONLY_NOTE } from '../../ui/buttons.tsx';
import { useOptimisticValue } from '../../ui/use-optimistic-value.ts';
import { useWindow } from '../../window-context.ts';

export function OwnerRules({ view }: { readonly view: AgentView }) {
  const titleId = useId();
  const { rules } = view.owner;
  const isFlag = ({ key }: RuleRow) => typeof rules[key] === 'boolean';
  return (
    <section className="owner-rules" aria-labelledby={titleId}>
      <h3 id={titleId}>{t.thisMachine.rules.title}</h3>
      {RULE_ROWS.filter(isFlag).map((row) => (
        <FlagRule key={row.key} owner={view.owner} row={row} />
      ))}
      {RULE_ROWS.filter((row) => !isFlag(row)).map((row) => (
        <LimitRule key={row.key} owner={view.owner} row={row} />
      ))}
    </section>
  );
}

interface RuleProps {
  readonly owner: AgentView['owner'];
  readonly row: RuleRow;
}

function FlagRule({ owner, row }: RuleProps) {
  const { actions } = useWindow();
  const { shown, error, choose } = useOptimisticValue(
    owner.rules[row.key] === true,
    (on: boolean) => actions.saveSettings({ agent: { [row.key]: on } }),
  );
  return <OwnerRule {...{ error }} shown={ruleShown(owner, row, shown)} onChange={choose} />;
}

function LimitRule({ owner, row }: RuleProps) {
  const { control, actions } = useWindow();
  const limit = owner.rules[row.key];
  const { shown, error, choose } = useOptimisticValue<number | string | null>(
    typeof limit === 'number' ? limit : null,
    (wanted) => actions.saveSettings({ agent: { [row.key]: wanted } }),
  );
  const rule = ruleShown(owner, row, shown !== null);
  const first = FIRST_LIMITS[row.key] ?? 1;
  return (
    <OwnerRule {...{ error }} shown={rule} onChange={(on) => choose(on ? first : null)}>
      <Limit
        words={words.limits[row.key] ?? NO_WORDS}
        limit={shown ?? first}
        disabled={!control || rule.isHeld || !rule.isOn}
        isRefused={error !== null}
        onLimit={choose}
      />
    </OwnerRule>
  );
}

interface OwnerRuleProps {
  readonly shown: RuleShown;
  readonly error: string | null;
  readonly onChange: (on: boolean) => void;
  readonly children?: ReactNode;
}

const words = t.thisMachine.rules;

function OwnerRule({ shown, error, onChange, children }: OwnerRuleProps) {
  const { control, settings } = useWindow();
  const { row, isOn, isHeld, ineffective } = shown;
  const variable = settings.kind === 'read' && settings.view['agent']?.[row.key]?.env;
  const noteId = useId();
  return (
    <div className="rule">
      <div className="rule-head">
        <Switch
          label={row.label}
          on={isOn}
          disabled={!control || isHeld}
          describedBy={control ? noteId : `${noteId} ${READ_ONLY_NOTE}`}
          onChange={onChange}
        />
        {children}
      </div>
      <p id={noteId} className="quiet">
        <span data-ineffective={(isOn && ineffective !== null) || undefined}>
          {ineffective ?? row.hint}
        </span>
        {isHeld && words.held(variable ? <code>{variable}</code> : words.anyVariable)}
      </p>
      <ErrorText text={error} />
    </div>
  );
}

interface LimitProps {
  readonly words: { readonly name: string; readonly unit: string };
  readonly limit: number | string;
  readonly disabled: boolean;
  readonly isRefused: boolean;
  readonly onLimit: (limit: number | string) => void;
}

/** A field for a limit, saved when it loses the focus or Enter is pressed. */
function Limit({ words: { name, unit }, limit, disabled, isRefused, onLimit }: LimitProps) {
  const [entered, setEntered] = useState<string | null>(null);
  const enter = (): void => {
    setEntered(null);
    // An empty field leaves the limit unchanged; the switch removes it.
    if (entered !== null && entered.trim() !== '' && entered.trim() !== String(limit))
      onLimit(limitOf(entered));
  };
  return (
    <span className="limit">
      <input
        type="text"
        inputMode="numeric"
        autoComplete="off"
        aria-label={name}
        aria-invalid={isRefused}
        value={entered ?? String(limit)}
        disabled={disabled}
        onChange={({ target }) => setEntered(target.value)}
        onBlur={enter}
        onKeyDown={({ key }) => {
          if (key === 'Enter') enter();
          if (key === 'Escape') setEntered(null);
        }}
      />
      <span className="unit" aria-hidden="true">
        {unit}
      </span>
    </span>
  );
}

type RuleKey = keyof typeof t.rules;

interface RuleRow {
  readonly key: RuleKey;
  readonly label: string;
  readonly hint: string;
  /** Why the rule has no effect on a machine that does not report its signal. */
  readonly unsupported: string;
}

export const RULE_ROWS: readonly RuleRow[] = (Object.keys(t.rules) as RuleKey[]).map((key) => ({
  key,
  ...t.rules[key],
}));

interface RuleShown {
  readonly row: RuleRow;
  readonly isOn: boolean;
  /** True if an environment variable sets the rule, so that it cannot be changed here. */
  readonly isHeld: boolean;
  /** Why it has no effect on this machine; null if it can have one. */
  readonly ineffective: string | null;
}

/** The limits proposed if none is set: a temperature at which a GPU can run permanently, and a long break. */
const FIRST_LIMITS: Readonly<Record<string, number>> = {
  maxGpuTemperatureC: 80,
  idleUnloadMin: 30,
};
const NO_WORDS = { name: '', unit: '' };

/** A rule on this machine; `isOn` is the state that the page shows. */
export function ruleShown(
  { heldRules, unjudgeable }: AgentView['owner'],
  row: RuleRow,
  isOn: boolean,
): RuleShown {
  return {
    row,
    isOn,
    isHeld: heldRules.includes(row.key),
    ineffective: unjudgeable.includes(row.key)
      ? t.thisMachine.rules.ineffective(isOn, row.unsupported)
      : null,
  };
}

/** The entered limit; text that is not a number is sent unchanged, and the gateway says what is allowed. */
export function limitOf(text: string): number | string {
  const trimmed = text.trim();
  return /^-?\d+(\.\d+)?$/.test(trimmed) ? Number(trimmed) : trimmed;
}

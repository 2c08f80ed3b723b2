import { useId, useState } from 'react';
import type { AgentView } from '#shared/agent.ts';
import * as t from '../../text/t.ts';
import { READ_ONLY_NOTE } from '../../ui/buttons.tsx';
import { ErrorText, Switch } from '../../ui/fields.tsx';
import { useOptimisticValue } from '../../ui/use-optimistic-value.ts';
import { useWindow } from '../../window-context.ts';

const words = t.thisMachine.rules;

type RuleKey = keyof typeof t.rules;

export const RULE_KEYS = Object.keys(t.rules) as readonly RuleKey[];

/** The limits proposed if none is set: a temperature at which a GPU can run permanently, and a long break. */
const FIRST_LIMITS: Readonly<Partial<Record<RuleKey, number>>> = {
  maxGpuTemperatureC: 80,
  idleUnloadMin: 30,
};

export function OwnerRules({ view: { owner } }: { readonly view: AgentView }) {
  const titleId = useId();
  const isOn = (rule: RuleKey) => (owner.rules[rule] ?? false) !== false;
  // A rule that this machine cannot judge would do nothing.
  const isOffered = (rule: RuleKey) => isOn(rule) || !owner.unjudgeable.includes(rule);
  const isLimit = (rule: RuleKey) => Number(FIRST_LIMITS[rule] !== undefined);
  return (
    <section className="owner-rules" aria-labelledby={titleId}>
      <h3 id={titleId}>Hold back automatically</h3>
      {RULE_KEYS.filter(isOffered)
        .toSorted((a, b) => isLimit(a) - isLimit(b))
        .map((rule) => (
          <OwnerRule key={rule} {...{ owner, rule }} />
        ))}
    </section>
  );
}

interface OwnerRuleProps {
  readonly owner: AgentView['owner'];
  readonly rule: RuleKey;
}

function OwnerRule({ owner, rule }: OwnerRuleProps) {
  const { control, actions } = useWindow();
  const noteId = useId();
  const { shown, error, choose } = useOptimisticValue<boolean | number | string | null>(
    owner.rules[rule] ?? null,
    (wanted) => actions.saveSettings({ agent: { [rule]: wanted } }),
  );
  const first = FIRST_LIMITS[rule];
  const isOn = shown !== null && shown !== false;
  const isHeld = owner.heldRules.includes(rule);
  return (
    <div className="rule">
      <div className="rule-head">
        <Switch
          label={t.rules[rule].label}
          on={isOn}
          disabled={!control || isHeld}
          describedBy={control ? noteId : `${noteId} ${READ_ONLY_NOTE}`}
          onChange={(on) => choose(first === undefined ? on : on ? first : null)}
        />
        {first !== undefined && (
          <Limit
            words={words.limits[rule] ?? NO_WORDS}
            limit={typeof shown === 'boolean' ? first : (shown ?? first)}
            disabled={!control || isHeld || !isOn}
            isRefused={error !== null}
            onLimit={choose}
          />
        )}
      </div>
      <p id={noteId} className="quiet">
        <RuleNote {...{ owner, rule, isHeld }} />
      </p>
      <ErrorText text={error} />
    </div>
  );
}

interface RuleNoteProps extends OwnerRuleProps {
  /** True if an environment variable sets the rule, so that it cannot be changed here. */
  readonly isHeld: boolean;
}

function RuleNote({ owner, rule, isHeld }: RuleNoteProps) {
  const { settings } = useWindow();
  const isIneffective = owner.unjudgeable.includes(rule);
  const variable = settings.kind === 'read' && settings.view['agent']?.[rule]?.env;
  return (
    <>
      <span data-ineffective={isIneffective || undefined}>
        {isIneffective
          ? `It has no effect here: ${t.rules[rule].unsupported}.`
          : t.rules[rule].hint}
      </span>
      {isHeld && (
        <>
          {' '}
          Set by {variable ? <code>{variable}</code> : 'an environment variable'}; change it there
          and restart.
        </>
      )}
    </>
  );
}

const NO_WORDS = { name: '', unit: '' };

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

/** The entered limit; text that is not a number is sent unchanged, and the gateway says what is allowed. */
export function limitOf(text: string): number | string {
  const trimmed = text.trim();
  return /^-?\d+(\.\d+)?$/.test(trimmed) ? Number(trimmed) : trimmed;
}

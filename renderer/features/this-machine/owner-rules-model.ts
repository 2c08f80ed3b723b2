import type { AgentView } from '#shared/agent.ts';
import { t } from '../../text/t.ts';

type RuleKey = keyof typeof t.rules;

/** An owner rule with its texts. */
export interface RuleRow {
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

export interface RuleShown {
  readonly row: RuleRow;
  readonly isOn: boolean;
  /** True if an environment variable sets the rule, so that it cannot be changed here. */
  readonly isHeld: boolean;
  /** Why it has no effect on this machine; null if it can have one. */
  readonly ineffective: string | null;
}

/** The limit proposed if none is set: a temperature at which a GPU can run permanently. */
export const FIRST_LIMIT_C = 80;

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

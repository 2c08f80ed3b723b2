import type { AgentView } from '#shared/agent.ts';
import { t } from '../../text/t.ts';

type RuleKey = keyof typeof t.rules;

/** The window's words for an owner rule. */
export interface RuleRow {
  readonly key: RuleKey;
  readonly label: string;
  readonly hint: string;
  /** Why it has no effect on a machine that does not report what the rule depends on. */
  readonly untold: string;
}

export const RULE_ROWS: readonly RuleRow[] = (Object.keys(t.rules) as RuleKey[]).map((key) => ({
  key,
  ...t.rules[key],
}));

export interface RuleShown {
  readonly row: RuleRow;
  readonly isOn: boolean;
  /** An environment variable sets it, so it cannot be changed here. */
  readonly isHeld: boolean;
  /** Why it has no effect on this machine; null if it can have one. */
  readonly futile: string | null;
}

/** The limit that is proposed if none is set: a GPU can run at it for long. */
export const FIRST_LIMIT_C = 80;

/** A rule of this machine; `isOn` as the page shows it. */
export function ruleShown(
  { heldRules, unjudgeable }: AgentView['owner'],
  row: RuleRow,
  isOn: boolean,
): RuleShown {
  return {
    row,
    isOn,
    isHeld: heldRules.includes(row.key),
    futile: unjudgeable.includes(row.key) ? t.thisMachine.rules.futile(isOn, row.untold) : null,
  };
}

/** The limit that was entered; text that is no number is sent unchanged, and the gateway says what is allowed. */
export function limitOf(text: string): number | string {
  const trimmed = text.trim();
  return /^-?\d+(\.\d+)?$/.test(trimmed) ? Number(trimmed) : trimmed;
}

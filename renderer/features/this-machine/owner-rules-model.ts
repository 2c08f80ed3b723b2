import type { AgentView } from '#shared/agent.ts';
import type { Field } from '../settings/field.ts';
import type { RuleRow } from '../settings/rule-rows.ts';
import { fieldAt } from '../settings/settings-table.ts';

/** One rule as the page shows it. */
export interface RuleShown {
  readonly field: Field;
  readonly isOn: boolean;
  /** The environment sets it, so that nobody can change it here. */
  readonly isHeld: boolean;
  /** Why it pauses nothing on this machine; null where it can be judged. */
  readonly futile: string | null;
}

/** The limit that is proposed where none is set: what a GPU bears for long. */
export const FIRST_LIMIT_C = 80;

/** A rule of this machine, with what is to be known before it is switched; `isOn` as the page shows it. */
export function ruleShown(
  { heldRules, unjudgeable }: AgentView['owner'],
  { key, untold }: RuleRow,
  isOn: boolean,
): RuleShown {
  const lead = isOn ? 'It has no effect here' : 'It would have no effect here';
  return {
    field: fieldAt(`agent.${key}`),
    isOn,
    isHeld: heldRules.includes(key),
    futile: unjudgeable.includes(key) ? `${lead}: ${untold}.` : null,
  };
}

/** The limit that was entered; text that is no number is sent as it is, for the gateway to say what is allowed. */
export function limitOf(text: string): number | string {
  const trimmed = text.trim();
  return /^-?\d+(\.\d+)?$/.test(trimmed) ? Number(trimmed) : trimmed;
}

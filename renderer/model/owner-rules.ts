import type { AgentRule, AgentView } from '#shared/agent.ts';
import type { Field } from './field.ts';
import { fieldAt } from './settings-table.ts';

/** One rule as the page shows it. */
export interface RuleShown {
  readonly field: Field;
  readonly isOn: boolean;
  /** The environment sets it, so that nobody can change it here. */
  readonly isHeld: boolean;
  /** Why it pauses nothing on this machine; null where it can be judged. */
  readonly futile: string | null;
}

/** What a machine must tell for each rule, in words for one that does not. */
const UNTOLD: Readonly<Record<AgentRule, string>> = {
  onlyWhenIdle: 'this machine does not tell when it was last touched',
  notOnBattery: 'this machine does not tell what it runs on',
  maxGpuTemperatureC: 'no GPU here tells its temperature',
  yieldToOthers: 'no GPU here tells how busy it is',
};

/** A limit to begin with, where none is set: what a GPU bears for long. */
export const FIRST_LIMIT_C = 80;

/** A rule of this machine, with what is to be known before it is switched; `isOn` as the page shows it. */
export function ruleShown(
  { heldRules, unjudgeable }: AgentView['owner'],
  rule: AgentRule,
  isOn: boolean,
): RuleShown {
  const lead = isOn ? 'It has no effect here' : 'It would have no effect here';
  return {
    field: fieldAt(`agent.${rule}`),
    isOn,
    isHeld: heldRules.includes(rule),
    futile: unjudgeable.includes(rule) ? `${lead}: ${UNTOLD[rule]}.` : null,
  };
}

/** The limit that was entered; text that is no number goes as it is, for the gateway to say what is allowed. */
export function limitOf(text: string): number | string {
  const trimmed = text.trim();
  return /^-?\d+(\.\d+)?$/.test(trimmed) ? Number(trimmed) : trimmed;
}

import { t } from '../../text/t.ts';

type RuleKey = keyof typeof t.rules;

/** The window's words for an owner rule, and how it is entered. */
export interface RuleRow {
  readonly key: RuleKey;
  readonly kind: 'flag' | 'celsius';
  readonly label: string;
  readonly hint: string;
  /** Why it has no effect on a machine that does not report what the rule depends on. */
  readonly untold: string;
}

const KINDS: Readonly<Record<RuleKey, RuleRow['kind']>> = {
  onlyWhenIdle: 'flag',
  notOnBattery: 'flag',
  maxGpuTemperatureC: 'celsius',
  yieldToOthers: 'flag',
};

export const RULE_ROWS: readonly RuleRow[] = (Object.keys(KINDS) as RuleKey[]).map((key) => ({
  key,
  kind: KINDS[key],
  ...t.rules[key],
}));

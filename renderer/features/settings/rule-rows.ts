/** The window's words for an owner rule, and how it is entered. */
export interface RuleRow {
  readonly key: 'onlyWhenIdle' | 'notOnBattery' | 'maxGpuTemperatureC' | 'yieldToOthers';
  readonly kind: 'flag' | 'celsius';
  readonly label: string;
  readonly hint: string;
  /** Why it has no effect on a machine that does not report what the rule depends on. */
  readonly untold: string;
}

export const RULE_ROWS: readonly RuleRow[] = [
  {
    key: 'onlyWhenIdle',
    kind: 'flag',
    label: 'Pause while in use',
    hint: 'It serves again after 5 minutes without keyboard or mouse input.',
    untold: 'this machine does not report when it was last used',
  },
  {
    key: 'notOnBattery',
    kind: 'flag',
    label: 'Pause on battery',
    hint: 'It serves again once it is plugged in.',
    untold: 'this machine does not report its power source',
  },
  {
    key: 'maxGpuTemperatureC',
    kind: 'celsius',
    label: 'Pause at a GPU temperature',
    hint: 'It serves again 5 °C below that.',
    untold: 'no GPU here reports its temperature',
  },
  {
    key: 'yieldToOthers',
    kind: 'flag',
    label: 'Pause while another program has the GPU',
    hint: 'It serves again once the GPU has been quiet for 30 s.',
    untold: 'no GPU here reports its load',
  },
];

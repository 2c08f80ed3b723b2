import type { Row } from './field.ts';

/** The window's words for an owner rule, and how its setting is entered. */
export interface RuleRow extends Row {
  readonly kind: 'flag' | 'celsius';
  /** Why it has no effect on a machine that does not tell what it is judged by. */
  readonly untold: string;
}

/** When a machine that is on takes no requests all the same. */
export const RULE_ROWS: readonly RuleRow[] = [
  {
    key: 'onlyWhenIdle',
    kind: 'flag',
    label: 'Pause while in use',
    hint: 'It serves again once nobody has touched it for 5 minutes.',
    untold: 'this machine does not tell when it was last touched',
    env: 'AGENT_ONLY_WHEN_IDLE',
    fallback: false,
  },
  {
    key: 'notOnBattery',
    kind: 'flag',
    label: 'Pause on battery',
    hint: 'It serves again once it is plugged in.',
    untold: 'this machine does not tell what it runs on',
    env: 'AGENT_NOT_ON_BATTERY',
    fallback: false,
  },
  {
    key: 'maxGpuTemperatureC',
    kind: 'celsius',
    label: 'Pause at a GPU temperature',
    hint: 'It serves again 5 °C below that.',
    untold: 'no GPU here tells its temperature',
    env: 'AGENT_MAX_GPU_TEMPERATURE_C',
    fallback: null,
  },
  {
    key: 'yieldToOthers',
    kind: 'flag',
    label: 'Pause while another program has the GPU',
    hint: 'It serves again once the GPU has been quiet for 30 s.',
    untold: 'no GPU here tells how busy it is',
    env: 'AGENT_YIELD_TO_OTHERS',
    fallback: false,
  },
];

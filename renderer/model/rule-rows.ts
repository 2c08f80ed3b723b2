import type { Row } from './field.ts';

/** When a machine that is on takes no requests all the same. */
export const RULE_ROWS: readonly Row[] = [
  {
    key: 'onlyWhenIdle',
    kind: 'flag',
    label: 'Pause while in use',
    hint: 'It serves again once nobody has touched it for 5 minutes.',
    env: 'AGENT_ONLY_WHEN_IDLE',
    fallback: false,
  },
  {
    key: 'notOnBattery',
    kind: 'flag',
    label: 'Pause on battery',
    hint: 'It serves again once it is plugged in.',
    env: 'AGENT_NOT_ON_BATTERY',
    fallback: false,
  },
  {
    key: 'maxGpuTemperatureC',
    kind: 'celsius',
    label: 'Pause at a GPU temperature',
    hint: 'It serves again 5 °C below that.',
    env: 'AGENT_MAX_GPU_TEMPERATURE_C',
    fallback: null,
  },
  {
    key: 'yieldToOthers',
    kind: 'flag',
    label: 'Pause while another program has the GPU',
    hint: 'It serves again once the GPU was quiet for 30 s.',
    env: 'AGENT_YIELD_TO_OTHERS',
    fallback: false,
  },
];

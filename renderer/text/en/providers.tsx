import { CHECKS as NAMES, type CheckName } from '#shared/checks.ts';
import { counted, formatCount } from '../format.ts';
import { MACHINES } from './nouns.ts';

export interface ColumnText {
  readonly title: string;
  readonly sort: string;
  readonly before?: string;
  readonly after?: string;
  /** Said before the value by screen readers, which do not read the title. */
  readonly aloud?: string;
}

export const providers = {
  rechecked: ' Being tested again.',
  groups: {
    all: 'All',
    attention: 'Needs attention',
    arriving: 'Testing',
    ready: 'Can serve',
    resting: 'Signed off or held back',
  },
  summary: ({
    all,
    ready,
    attention,
    arriving,
    resting,
  }: Readonly<Record<'all' | 'ready' | 'attention' | 'arriving' | 'resting', number>>) => {
    const some = (count: number, text: string) =>
      count === 0 ? [] : [`${formatCount(count)} ${text}`];
    const parts = [
      `${formatCount(ready)} can serve`,
      ...some(attention, attention === 1 ? 'needs attention' : 'need attention'),
      ...some(arriving, 'being tested'),
      ...some(resting, 'signed off or held back'),
    ];
    return all === 0 ? 'None with a GPU yet.' : `${counted(all, MACHINES)}: ${parts.join(', ')}.`;
  },
  columns: {
    machine: { title: 'Machine', sort: 'Name' },
    state: { title: 'State', sort: 'State' },
    model: { title: 'Model', sort: 'Model' },
    load: { title: 'GPU', sort: 'GPU load', before: 'GPU ' },
    memory: { title: 'GPU memory', sort: 'GPU memory in use' },
    temperature: { title: 'Temp.', sort: 'Temperature' },
    version: { title: 'Version', sort: 'Version', aloud: 'version ' },
    speed: { title: 'Tokens/s', sort: 'Tokens/s', after: ' tokens/s' },
    inFlight: { title: 'Running', sort: 'Requests running', after: ' running' },
    heartbeat: { title: 'Last report', sort: 'Longest silence', aloud: 'last report ' },
  } satisfies Record<string, ColumnText>,
  here: 'This machine',
  panels: {
    gpus: 'GPUs',
    checks: 'Checks',
    serving: 'Serving',
    circuit: 'Failures',
    machine: 'Machine',
    connection: 'Connection',
    history: 'History',
  },
  gpu: {
    none: '–',
    memory: 'Memory',
    busy: 'Load',
    temperature: 'Temperature',
    used: (used: string) => `${used} used`,
    useUnknown: (total: string) => `${total}, use unknown`,
    celsius: (celsius: number) => `${Math.round(celsius)} °C`,
  },
  checks: {
    outcomes: { passed: 'passed', failed: 'failed', missing: 'not run' },
    names: {
      [NAMES.health]: 'Agent reachable',
      [NAMES.engineHealth]: 'Engine answers',
      [NAMES.gpuCount]: 'GPU found',
      [NAMES.inference]: 'Test answer',
      [NAMES.latency]: 'Test answer in time',
      [NAMES.model]: 'Reported model offered',
    } satisfies Record<CheckName, string> as Readonly<Record<string, string>>,
    todo: {
      [NAMES.health]: 'Let port 3001 or 47901 through its firewall.',
      [NAMES.engineHealth]: 'Start the engine on that machine.',
      [NAMES.gpuCount]: 'Check that its GPU driver is loaded.',
      [NAMES.inference]: 'Try the engine directly on that machine; its log says more.',
      [NAMES.latency]: 'Check what keeps the machine busy, or load a smaller model.',
      [NAMES.model]: 'Restart its agent if the engine has changed its model.',
    } satisfies Record<CheckName, string> as Readonly<Record<string, string>>,
  },
  history: {
    kinds: { enrolled: 'joined', status: 'status', verification: 'test' },
  },
};

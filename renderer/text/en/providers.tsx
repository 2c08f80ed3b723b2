import { CHECKS as NAMES, type CheckName } from '#shared/checks.ts';
import { counted, formatCount } from '../format.ts';
import { ADDRESSES, CHECKS, MACHINES, MODELS, REQUESTS } from './nouns.ts';

export interface ColumnText {
  readonly title: string;
  readonly sort: string;
  readonly before?: string;
  readonly after?: string;
  /** Before the value for screen readers, which do not read the title. */
  readonly aloud?: string;
}

export const providers = {
  title: 'Machines',
  all: 'All machines',
  theList: 'The machines',
  machine: 'Machine',
  unnamed: 'Unnamed machine',
  theMachine: 'This machine',
  joinOne: 'Add a machine',
  label: 'Machines',
  rechecked: ' Being verified again.',
  id: 'machine id',
  unknownTitle: 'This machine is not known here',
  unknownText: (id: string) => (
    <>
      No machine has the id <code>{id}</code>. It was removed, or has not reported for 30 days.
    </>
  ),
  groups: {
    all: 'All',
    attention: 'Needs attention',
    arriving: 'Verifying',
    ready: 'Can serve',
    resting: 'Offline or paused',
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
      ...some(arriving, 'being verified'),
      ...some(resting, 'offline or paused'),
    ];
    return all === 0 ? 'None yet.' : `${counted(all, MACHINES)}: ${parts.join(', ')}.`;
  },
  filters: {
    label: 'Which machines',
    search: 'Filter by name, note, chip, model or address',
    placeholder: 'Name, chip or model',
    noneTitle: 'No machine here',
    none: 'None is in this state.',
    noneNamed: (text: string) => `None in this state matches “${text}”.`,
    showAll: 'Show all',
    unread: (count: number) =>
      `${formatCount(count)} more machines report to this gateway than are listed here; the API lists them all.`,
  },
  sortBy: 'Sort by ',
  columns: {
    machine: { title: 'Machine', sort: 'Name' },
    state: { title: 'State', sort: 'State' },
    model: { title: 'Model', sort: 'Model' },
    load: { title: 'GPU', sort: 'GPU load', before: 'GPU ' },
    memory: { title: 'GPU memory', sort: 'GPU memory in use' },
    temperature: { title: 'Temp.', sort: 'Temperature' },
    version: { title: 'Version', sort: 'Version', aloud: 'version ' },
    speed: { title: 'Tokens/s', sort: 'Tokens/s', after: ' tokens/s' },
    inFlight: { title: 'In flight', sort: 'Requests in flight', after: ' in flight' },
    heartbeat: { title: 'Heartbeat', sort: 'Longest silence', aloud: 'last heartbeat ' },
  } satisfies Record<string, ColumnText>,
  here: 'This machine',
  noted: (chip: string, note: string) => `${chip} · ${note}`,
  note: { title: 'Name and note', name: 'Your name for it', note: 'Note' },
  noneYet: {
    title: 'No machine reports to this gateway yet',
    text: 'Add a machine with a GPU and an inference engine, such as Ollama, llama.cpp, vLLM or LM Studio. Requests for Local go to the machines listed here.',
    this: 'This machine',
    thisText:
      'With an engine and a GPU it appears within seconds of the gateway’s start; there is nothing to enter.',
    other: 'Another machine',
    otherText: '“Add a machine” gives you one command to run there. It works once, for an hour.',
  },
  actions: {
    verify: 'Verify now',
    verifying: 'Verifying…',
    remove: 'Remove…',
    removeTitle: (name: string) => `Remove ${name}?`,
    removeText:
      'It gets no more requests from this gateway, and its history is deleted. To come back, it has to join again with a new join command.',
    removeNow: (name: string) => `Remove ${name}`,
  },
  panels: {
    gpus: 'GPUs',
    checks: 'Checks',
    serving: 'Serving',
    circuit: 'Circuit',
    machine: 'Machine',
    connection: 'Connection',
    history: 'History',
    models: (count: number) => `All ${formatCount(count)} models`,
    asOf: (time: string) => `as last reported, ${time}`,
  },
  gpu: {
    noGpu: 'The agent reports no GPU. Check that its driver is loaded.',
    none: '–',
    index: (index: number) => `GPU ${index}`,
    memory: 'Memory',
    busy: 'Load',
    temperature: 'Temperature',
    used: (used: string) => `${used} used`,
    useUnknown: (total: string) => `${total}, use unknown`,
    percent: (percent: number) => `${percent}%`,
    /** Of more than two GPUs the lowest and the highest. */
    percents: (all: readonly number[]) =>
      all.length > 2 ? `${Math.min(...all)}–${Math.max(...all)}%` : `${all.join(' · ')}%`,
    celsius: (celsius: number) => `${Math.round(celsius)} °C`,
  },
  checks: {
    never: 'not verified yet',
    at: (time: string) => `at ${time}`,
    none: 'It has not been verified yet.',
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
    otherTodo: 'Check the machine’s own log.',
  },
  history: {
    unreadable: 'The history could not be read.',
    none: 'Nothing has happened yet.',
    kinds: { enrolled: 'joined', status: 'status', verification: 'check' },
  },
  circuit: {
    state: 'State',
    unused: 'healthy, not used yet',
    never: 'never',
    row: 'Failures in a row',
    failed: 'Failed in total',
    answered: 'Answered in total',
    lastAnswer: 'Last answer',
    lastFailure: 'Last failure',
    lastError: 'Last error',
    noError: 'none',
    closed: 'closed',
    open: 'skipped; retries next',
    openFor: (time: string) => `skipped; retries in ${time}`,
  },
  facts: {
    unknown: 'unknown',
    none: 'none',
    notSet: 'not set',
    notMeasured: 'not measured yet',
    chipMemory: (chip: string | null, memory: string | null) =>
      `${chip ?? 'GPU unknown'} · ${memory ?? 'memory unknown'}`,
    noModel: 'no model',
    models: (count: number) => counted(count, MODELS),
    modelAndMore: (model: string, more: number) => `${model} + ${formatCount(more)}`,
    noSpeed: '–',
    unit: (value: string, unit: string) => `${value} ${unit}`,
    bandwidthUnit: 'GB/s',
    speedUnit: 'tokens/s',
    chip: 'Chip',
    family: 'Family',
    gpuMemory: 'GPU memory',
    bandwidth: 'Bandwidth',
    gpuCores: 'GPU cores',
    cpuCores: 'CPU cores',
    memory: 'Memory',
    platform: 'Platform',
    region: 'Region',
    agent: 'Agent',
    uptime: 'Up',
    model: 'Model',
    modelFiles: 'Model files',
    engine: 'Engine',
    engineHealth: (status: string, code: number) =>
      code === 0 ? status : `${status}, HTTP ${code}`,
    speed: 'Speed (reported)',
    inFlight: 'In flight',
    answered: 'Requests from this gateway',
    answeredOf: (answered: number, asked: number) =>
      `${formatCount(answered)} of ${formatCount(asked)} answered`,
    firstToken: 'First token',
    wholeAnswer: 'Whole answer',
    requests: 'Requests (reported)',
    tokens: 'Tokens (reported)',
    lastHeartbeat: 'Last heartbeat',
    cameFrom: 'Came from',
    heartbeats: 'Heartbeats',
    agentUrl: 'Agent’s address',
    hostName: 'Host name',
    tailnetName: 'Tailnet name',
    tailnetAddress: 'Tailnet address',
    trust: 'Trust',
    trusted: 'software: alive and able',
    untrusted: 'none yet',
  },
  says: {
    at: (time: string) => `at ${time}`,
    stopped: (time: string) => `Shut down ${time}.`,
    paused: 'Paused by its owner.',
    loading: 'Its engine is loading a model.',
    draining: 'It finishes running requests and takes no new ones.',
    direct: 'Local calls its engine without the agent.',
    silent: (time: string) => `No heartbeat since ${time}.`,
    silentTodo: 'Check that the machine is on, its agent runs and the network is up.',
    failed: 'failed',
    failure: (address: string, error: string) => `${address} (${error})`,
    unreachable: (addresses: readonly string[], more: number) =>
      `Its heartbeats arrive, but it cannot be reached: ${addresses.join(', ')}${
        more > 0 ? ` and ${counted(more, ADDRESSES)}` : ''
      }.`,
    engineSilent: 'Its engine accepts connections but does not answer.',
    engineDown: (code: number, said: string) =>
      `Its engine ${code === 0 ? 'does not answer' : `answers HTTP ${code}`}${said === '' ? '' : ` (${said})`}.`,
    unverified: 'Its verification failed.',
    verifyAgain: 'Verify it again.',
    checkFailed: (check: string, errors: readonly string[], more: number) =>
      `The check “${check}” failed: ${errors.join(', ')}.${
        more === 0 ? '' : ` ${counted(more, CHECKS)} failed.`
      }`,
    grace: ' It keeps serving; three failed verifications in a row exclude it.',
    resting: (fails: number, reason: string | null) =>
      `It failed ${counted(fails, REQUESTS)} in a row${reason === null ? '' : ` (${reason})`} and is skipped for now.`,
    restingTodo: 'Check its engine’s log.',
    otherModel: 'Another model is loaded; it is tested within a minute.',
    pending: 'Waiting to be verified.',
    pendingBecause: (reason: string) => `Waiting to be verified: ${reason}.`,
  },
};

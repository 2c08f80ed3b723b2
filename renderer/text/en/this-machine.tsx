import type { ReactNode } from 'react';
import { counted, formatCount, formatList } from '../format.ts';
import { MODELS, NOTES } from './nouns.ts';

export const thisMachine = {
  title: 'This machine',
  reading: 'Reading this machine…',
  modes: {
    of: ' this machine',
    on: { word: 'Resume', done: 'This machine takes requests.' },
    drained: {
      word: 'Drain',
      done: 'This machine takes no new requests; running ones may finish.',
    },
    paused: { word: 'Pause', done: 'This machine is paused.' },
    both: 'Drain finishes running requests; Pause stops them.',
    pause: 'Pause stops running requests.',
  },
  rules: {
    title: 'Automatic pause',
    anyVariable: 'an environment variable',
    held: (variable: ReactNode) => <> Set by {variable}; change it there and restart.</>,
    ineffective: (isOn: boolean, why: string) =>
      isOn ? `It has no effect here: ${why}.` : `It would have no effect here: ${why}.`,
    limits: {
      maxGpuTemperatureC: { name: 'Limit in °C', unit: '°C' },
      idleUnloadMin: { name: 'Time in minutes', unit: 'min' },
    } as Readonly<Record<string, { readonly name: string; readonly unit: string }>>,
  },
  electricity: {
    idle: 'GPU when idle',
    perToken: (model: string) => `A token of ${model}`,
    perTokenGross: (model: string) => `A token of ${model}, idle power included`,
    money: (amount: number, currency: string) =>
      `${amount.toFixed(amount < 1 ? 3 : 2)} ${currency}`,
    idleADay: (watts: number, kwh: number, cost: string | null) =>
      `${watts} W: ${kwh.toFixed(2)} kWh a day${cost === null ? '' : `, ${cost}`}`,
    joules: (joules: number) => `${joules.toPrecision(2)} J`,
    pays: (joules: string, price: string) =>
      `${joules}: pays above ${price} for a million hosted output tokens`,
  },
  memory: {
    title: 'Models in memory',
    nothing: 'None is loaded.',
    others: (count: number) => `${counted(count, MODELS)} not in memory`,
    free: 'Free the GPU',
    freeAgain: 'Free it again',
    freeTwoHours: 'Free it for 2 h',
    about:
      'Unloads all models for a game or another program. Other upstreams answer meanwhile; Resume loads the same models again.',
    load: 'Load',
    unload: 'Unload',
    pending: 'Working…',
    uses: { embedding: 'embeddings', rerank: 'reranking', other: 'speech or pictures' },
    loaded: (age: string) => `loaded ${age}`,
    vram: (size: string) => `${size} of GPU memory`,
    window: (tokens: string) => `${tokens} tokens`,
  },
  join: {
    open: 'Join a gateway…',
    title: 'Join a gateway',
    label: 'Paste the join command from “Add a machine” on the other gateway.',
    partial: 'This is not the whole command: copy it again from “Add a machine” on the gateway.',
    joining: 'Joining…',
    join: 'Join',
    joinHost: (host: string) => `Join ${host}`,
  },
  offer: {
    use: 'Use it for Local',
    used: (overview: (text: string) => ReactNode, settings: (text: string) => ReactNode) => (
      <>
        It now serves Local (see the {overview('Overview')}). Pausing this machine does not stop
        that; freeing its memory does, and so does clearing the address in {settings('Settings')}.
      </>
    ),
    text: (address: ReactNode) => (
      <>This gateway can call the engine at {address} without the agent.</>
    ),
    instead: (address: ReactNode) => <> Local then no longer calls {address}.</>,
  },
  problems: {
    tools: (count: number) => `${counted(count, NOTES)} about engines and GPU drivers`,
    tried: (tool: string, tried: string) => `${tool}: ${tried}`,
  },
  engines: {
    vllm: 'vLLM',
    'llama.cpp': 'llama.cpp',
    ollama: 'Ollama',
    lmstudio: 'LM Studio',
    sglang: 'SGLang',
    tgi: 'TGI',
    mlx: 'MLX',
    jan: 'Jan',
    koboldcpp: 'KoboldCpp',
    'llama-swap': 'llama-swap',
    docker: 'Docker Model Runner',
    other: 'An engine',
  } as Readonly<Record<string, string>>,
  health: {
    ok: 'ready',
    loading: 'loading a model',
    unauthorized: 'requires a key',
    error: (status: number) => `fails with HTTP ${status}`,
    unreachable: 'does not answer',
    unresponsive: 'accepts connections but does not answer',
  },
  facts: {
    engine: 'Engine',
    model: 'Model',
    gpu: 'GPU',
    gateway: 'Reports to',
    heartbeat: 'Last heartbeat',
    listens: 'Listens on',
    noneFound: 'none found',
    otherEngine: 'Engine',
    engineAt: (name: string, health: string, address: string) =>
      `${name}, ${health}, at ${address}`,
    ofFound: (engine: string, count: number) => `${engine} (of ${formatCount(count)} found)`,
    gpus: (count: number, chip: string) => `${formatCount(count)} × ${chip}`,
    own: 'this gateway',
    another: 'another gateway',
    none: 'no gateway',
    noHeartbeat: 'none yet',
    address: (host: string, ports: readonly number[]) => `${host}:${formatList(ports.map(String))}`,
    nothing: 'nothing',
    butNot: (ports: readonly number[]) => `, not on ${formatList(ports.map(String))}`,
  },
  says: {
    stopping: 'Its agent is stopping.',
    heldBack: 'An owner rule pauses it.',
    heldBackTodo: 'It resumes automatically; “Resume” overrides the rule.',
    draining: (isOwner: boolean) =>
      `Drained by ${isOwner ? 'you' : 'its owner'}: running requests finish, and no new ones are taken.`,
    paused: (isDrained: boolean, isOwner: boolean) =>
      `${isDrained ? 'Drained' : 'Paused'} by ${
        isOwner
          ? 'you: it takes no requests until you resume it'
          : 'its owner: it takes no requests until it is resumed'
      }.`,
    freed: (until: string | null, isOwner: boolean) =>
      `Its memory is freed by ${isOwner ? 'you' : 'its owner'}${
        until === null ? '' : ` until ${until}`
      }: it takes no requests.`,
    freedTodo: (models: readonly string[], isOwner: boolean) =>
      models.length === 0
        ? null
        : `${isOwner ? '“Resume”' : 'Resuming'} first loads ${formatList(models)}.`,
    looking: 'Looking for an engine.',
    noEngine: 'No engine was found here, so this machine serves nothing.',
    noEngineTodo:
      'Start Ollama, llama.cpp, vLLM, LM Studio or another engine; it is detected automatically.',
    loading: (engine: string) => `${engine} is loading a model.`,
    locked: (engine: string) => `${engine} requires a key, which the agent does not have.`,
    lockedTodo: 'Start it without one: the agent admits only gateways that it has joined.',
    failing: (engine: string, status: number) => `${engine} answers HTTP ${status}.`,
    failingTodo: 'Check its log.',
    silent: (engine: string) => `${engine} does not answer.`,
    silentTodo: 'Check that it is running.',
    direct: (engine: string | null) =>
      `Local calls ${engine ?? 'its engine'} on this machine directly.`,
    noGpu: (engine: string) =>
      `${engine} was found here, but no GPU: gateways send requests only to machines that have one.`,
    starting: 'Its agent is starting.',
    unreachable: 'No gateway can reach its agent.',
    notEnrolled: 'It belongs to no gateway, so it gets no requests.',
    noContact: (isJoined: boolean) =>
      `Its heartbeats do not reach ${isJoined ? 'the gateway that it joined' : 'this gateway'}.`,
    firstReport: (isJoined: boolean) =>
      `It reports to ${isJoined ? 'the gateway that it joined' : 'this gateway'} for the first time.`,
    checkFailed: (reason: string) => `The gateway’s check of this machine failed: ${reason}.`,
    checkFailedTodo: 'Its page shows each check.',
    verifying: 'The gateway is checking this machine.',
    pending: 'The gateway verifies it within a minute.',
    serving: 'It is answering requests.',
    ready: 'Verified and waiting for requests.',
  },
};

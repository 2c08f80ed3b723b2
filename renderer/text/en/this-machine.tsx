export const thisMachine = {
  title: 'This machine',
  modes: {
    on: { word: 'Resume', done: 'This machine takes requests.' },
    drained: {
      word: 'Finish, then hold back',
      done: 'This machine takes no new requests; running ones may finish.',
    },
    paused: { word: 'Hold back', done: 'This machine is held back.' },
  },
  rules: {
    limits: {
      maxGpuTemperatureC: { name: 'Limit in °C', unit: '°C' },
      idleUnloadMin: { name: 'Time in minutes', unit: 'min' },
    } as Readonly<Record<string, { readonly name: string; readonly unit: string }>>,
  },
  memory: {
    uses: { embedding: 'embeddings', rerank: 'reranking', other: 'speech or pictures' },
  },
  health: {
    ok: 'ready',
    loading: 'loading a model',
    unauthorized: 'requires a key',
    unreachable: 'does not answer',
    unresponsive: 'accepts connections but does not answer',
  },
};

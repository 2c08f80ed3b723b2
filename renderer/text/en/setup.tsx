export const setup = {
  chooseOne: 'Choose one…',
  model: 'Model',
  again: 'Try again',
  hosted: {
    baseUrl: 'Base URL',
    name: 'Name',
    priceInput: 'Input price',
    priceOutput: 'Output price',
    priceExamples: { input: 'e.g. 0.15', output: 'e.g. 0.60' },
    key: 'API key',
    onAnother: (engine: string) => `${engine} on another machine`,
    other: 'Another OpenAI-compatible API',
  },
  test: {
    costs: {
      local: 'Sends one short request.',
      ondemand: 'Sends one short request. This may start the GPU, which costs money.',
    },
    starting: {
      word: 'Starting up.',
      detail:
        'It is loading its model. That takes seconds for a small one and minutes for a large one. Try the test again when it has loaded.',
      brief: 'Loading its model, which can take minutes. Try the test again when it has loaded.',
    },
  },
};

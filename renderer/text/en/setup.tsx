import type { ReactNode } from 'react';
import { counted, formatCount } from '../format.ts';
import { TOKENS } from './nouns.ts';

export const setup = {
  firstRun: {
    title: 'Connect your first model',
    text: 'One is enough. It is tested with a short request as soon as you save it.',
    works: 'Your first model works',
    worksText: 'Send it a message, or point your apps at the base URL above.',
    here: 'On this machine',
    hosted: 'A hosted API, or another machine',
    message: 'Send a first message',
  },
  title: (label: string) => `Set up ${label}`,
  chooseOne: 'Choose one…',
  filter: (count: number) => `Search ${formatCount(count)} models`,
  chooseOf: (count: number) => `Choose one of ${formatCount(count)}…`,
  model: 'Model',
  listing: 'Listing its models…',
  again: 'Try again',
  engine: {
    form: 'Engine address',
    orAnother: 'Or another address',
    address: 'Engine address',
    example: '127.0.0.1:11434',
    thisAddress: (
      <>
        Use<span className="unseen"> this address for Local</span>
      </>
    ),
    used: 'Serves Local',
    use: (engine: string) => (
      <>
        Use it for Local<span className="unseen">: {engine}</span>
      </>
    ),
    looking: 'Looking for engines…',
    off: 'This machine’s agent is switched off, so engines here are not detected.',
    none: 'No engine found yet. Start Ollama, LM Studio, llama.cpp or vLLM, and it appears here within seconds.',
    noGpu:
      'No GPU was found, so this machine is not added to Machines. The engine can still serve Local.',
    gpu: 'A GPU was found: this machine serves Local as soon as it is verified.',
  },
  hosted: {
    form: 'Hosted API',
    service: 'Service',
    save: 'Save and test',
    baseUrl: 'Base URL',
    name: 'Name',
    price: 'Price of a million tokens (optional)',
    priceInput: 'Input price',
    priceOutput: 'Output price',
    priceExamples: { input: '0.15', output: '0.60' },
    key: 'API key',
    optionalKey: 'API key (if required)',
    keysAt: (place: ReactNode) => <>Create one at {place}. </>,
    keptHere: (address: ReactNode) => <>Stored on this machine; sent only to {address}.</>,
    thisAddress: 'this address',
    onAnother: (engine: string) => `${engine} on another machine`,
    other: 'Another OpenAI-compatible API',
  },
  test: {
    test: (label: string) => (
      <>
        Test<span className="unseen"> {label}</span>
      </>
    ),
    costs: {
      local: 'Sends one short request.',
      hosted: 'Sends one short request, which costs a fraction of a cent.',
      ondemand: 'Sends one short request. This may start the GPU, which costs money.',
    },
    running: 'Testing…',
    refused: 'Not tested.',
    reachable: 'Reachable.',
    reachableDetail: (duration: string) =>
      `The key is accepted (${duration}). No model is set, so no completion was tried.`,
    noModel: 'No model is set.',
    works: 'Works.',
    tokens: (count: number) => counted(count, TOKENS),
    firstToken: (duration: string) => `first token ${duration}`,
    answeredIn: (duration: string) => `answered in ${duration}`,
    detail: (model: string, facts: readonly string[]) =>
      `${model === '' ? 'It' : model} ${facts.join(' · ')}`,
    starting: {
      word: 'Starting up.',
      detail:
        'It is loading its model. That takes seconds for a small one and minutes for a large one on a cold GPU. Try the test again when it has loaded.',
      brief: 'Loading its model, which can take minutes. Try the test again when it has loaded.',
    },
    failed: (reason: string) => `Failed: ${reason}.`,
  },
};

import type { ReactNode } from 'react';
import { counted } from '../format.ts';
import { TOKENS } from './nouns.ts';

/** Setting up an upstream, and testing it. */
export const setup = {
  firstRun: {
    title: 'Connect your first model',
    text: 'One is enough. Each is tested with a short request as soon as it is saved.',
    works: 'Your first model answers',
    worksText: 'Try it here, or give your apps the base URL above.',
    here: 'On this machine',
    hosted: 'A hosted API, or another machine',
    message: 'Send a first message',
  },
  title: (label: string) => `Set up ${label}`,
  chooseOne: 'Choose one…',
  model: 'Model',
  listing: 'Listing its models…',
  engine: {
    form: 'Engine address',
    orAnother: 'Or another address',
    address: 'Or its address',
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
    off: 'The agent of this machine is switched off, so nothing looks for engines here.',
    none: 'No engine found yet. Start Ollama, LM Studio, llama.cpp or vLLM, and it appears here within seconds.',
    noGpu:
      'No GPU was found beside it, so it does not join as a GPU machine. It serves Local all the same.',
    gpu: 'A GPU was found: once verified, this machine serves Local without any setting.',
  },
  hosted: {
    form: 'Hosted API',
    service: 'Service',
    save: 'Save and test',
    baseUrl: 'Base URL',
    key: 'API key',
    optionalKey: 'API key (if it has one)',
    keysAt: (place: ReactNode) => <>Create one at {place}. </>,
    keptHere: (address: ReactNode) => <>Kept on this machine; sent to {address} only.</>,
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
      ondemand: 'Sends one short request. It may start the GPU, which costs money.',
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
    failed: (reason: string) => `Failed: ${reason}.`,
  },
};

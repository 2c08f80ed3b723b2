import { counted } from '../format.ts';
import { TOKENS } from './nouns.ts';

export const chat = {
  title: 'Chat',
  model: 'Model',
  anyModel: 'Let the gateway choose',
  again: 'Try again',
  answerText: 'answer',
  code: 'code',
  fresh: 'New chat',
  log: 'Conversation',
  empty:
    'Each message is routed like a request from an app, and shows the route it took. Nothing is stored: closing this page ends the chat.',
  message: 'Message',
  send: 'Send',
  stop: 'Stop',
  keys: 'Enter to send, Shift+Enter for a new line.',
  reasoning: 'Reasoning',
  waiting: 'Waiting for the first token…',
  startingGpu: (label: string, elapsed: string | null, usual: string | null) =>
    `${label} is starting its GPU${elapsed === null ? '' : `: ${elapsed} so far`}${
      usual === null ? '' : `, usually ${usual}`
    }. The answer follows.`,
  stopped: 'Stopped.',
  emptyAnswer: 'The answer was empty.',
  brokeOff: 'The answer was cut off.',
  request: (id: string) => `Request ${id}`,
  route: (served: string, passed: readonly string[]) =>
    passed.length === 0 ? served : `${served}: ${passed.join('; ')}`,
  seeMachines: 'See Machines',
  aboutTokens: (count: number) => `≈ ${counted(count, TOKENS)}`,
  firstToken: (duration: string) => `first token ${duration}`,
};

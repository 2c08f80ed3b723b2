import { counted, formatCount } from '../format.ts';
import { TOKENS } from './nouns.ts';

/** The chat page. */
export const chat = {
  title: 'Chat',
  model: 'Model',
  anyModel: 'Let the gateway choose',
  fresh: 'New chat',
  log: 'Conversation',
  empty:
    'Each message is routed as a request of an app would be, and shows its route. Nothing is stored: the chat ends with this page.',
  message: 'Message',
  send: 'Send',
  stop: 'Stop',
  keys: 'Enter sends, Shift+Enter starts a new line.',
  reasoning: 'Reasoning',
  waiting: 'Waiting for the first token…',
  stopped: 'Stopped.',
  emptyAnswer: 'The answer is empty.',
  brokeOff: 'The answer broke off.',
  request: (id: string) => `Request ${id}`,
  noUpstream: 'No upstream',
  passed: (upstream: string, reason: string) => `${upstream} ${reason}`,
  route: (served: string, passed: readonly string[]) => `${served}, after ${passed.join(', ')}`,
  aboutTokens: (count: number) => `≈ ${counted(count, TOKENS)}`,
  tokens: (prompt: number, completion: number) =>
    `${formatCount(prompt)} + ${counted(completion, TOKENS)}`,
  firstToken: (duration: string) => `first token ${duration}`,
  rate: (perSecond: number) =>
    `${perSecond < 10 ? perSecond.toFixed(1) : Math.round(perSecond)} tokens/s`,
};

import type { AgentError } from './errors.ts';

/** What a caller is told while no requests are taken. */
export function closedError(
  mode: 'paused' | 'draining' | 'leaving',
  reasons: readonly string[],
): AgentError {
  const why = reasons.join(' ');
  switch (mode) {
    case 'paused':
      return closed('paused', `This machine is paused. ${why}`, 30);
    case 'draining':
      return closed('draining', `This machine is draining. ${why}`, 30);
    case 'leaving':
      return closed('draining', 'This machine is draining: its agent is stopping.', 10);
  }
}

function closed(code: 'paused' | 'draining', message: string, retryAfterS: number): AgentError {
  return {
    status: 503,
    code,
    message: message.trim(),
    headers: { 'retry-after': String(retryAfterS) },
  };
}

import { callPieceOf } from '../../protocols/chat/calls.ts';
import type { Delta } from './deltas.ts';
import { createRepeatGate } from './text-gates.ts';
import type { SentCall } from './transcript.ts';

/** Passes the part of a repeated answer's tool calls that was not sent before. */
export interface CallsGate {
  /** The pieces to send; null if a call differs. */
  take(pieces: readonly Delta[]): readonly Delta[] | null;
  /** Whether everything that must be repeated has been. */
  isPast(): boolean;
}

/** A call that was sent keeps the id that the caller has. */
export function createCallsGate(sent: readonly SentCall[]): CallsGate {
  const calls = sent.map((call) => ({ ...call, gate: createRepeatGate(call.arguments) }));
  const byIndex = new Map(calls.map((call) => [call.index, call]));
  /** Of those without an index, which come whole. */
  let wholeCalls = 0;
  /** Those before it are past. */
  let first = 0;

  function callAt(index: SentCall['index']) {
    if (index !== null) return byIndex.get(index);
    const whole = calls[wholeCalls];
    wholeCalls += 1;
    return whole;
  }

  function isPast(): boolean {
    while (calls[first]?.gate.isPast() === true) first += 1;
    return first === calls.length;
  }

  function rest(piece: Delta): readonly Delta[] | null {
    const { index, name, arguments: json } = callPieceOf(piece);
    const call = callAt(index);
    if (call === undefined) return isPast() ? [piece] : null;
    if (name !== '' && name !== call.name) return null;
    const added = call.gate.take(json);
    if (added === null || (added !== '' && index === null)) return null;
    return added === '' ? [] : [{ index, function: { arguments: added } }];
  }

  return {
    isPast,
    take(pieces) {
      const kept: Delta[] = [];
      for (const piece of pieces) {
        const added = rest(piece);
        if (added === null) return null;
        kept.push(...added);
      }
      return kept;
    },
  };
}

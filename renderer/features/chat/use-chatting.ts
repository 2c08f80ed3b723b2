import { useEffect, useRef, useState } from 'react';
import type { SendChat } from '../../api/chat.ts';
import { messagesOf, newTurn, withEnd, withEvent, type Turn } from './conversation.ts';

/** A conversation in progress. */
export interface Chatting {
  readonly turns: readonly Turn[];
  /** Null: the gateway chooses. */
  readonly model: string | null;
  readonly isRunning: boolean;
  /** An empty name leaves the choice to the gateway. */
  readonly choose: (model: string) => void;
  readonly send: (question: string) => Promise<void>;
  readonly stop: () => void;
  readonly clear: () => void;
}

/** Used above the pages, so that an answer continues while another page is shown. */
export function useChatting(sendChat: SendChat): Chatting {
  const [turns, setTurns] = useState<readonly Turn[]>([]);
  const [model, setModel] = useState<string | null>(null);
  const running = useRef<AbortController | null>(null);
  // One update per frame: a fast engine sends more tokens than the screen has frames.
  const pending = useRef<((turn: Turn) => Turn)[]>([]);
  const frame = useRef(0);
  useEffect(() => () => running.current?.abort(), []);

  const flush = (): void => {
    cancelAnimationFrame(frame.current);
    frame.current = 0;
    const changes = pending.current;
    pending.current = [];
    setTurns((all) => {
      const last = all.at(-1);
      if (last === undefined || changes.length === 0) return all;
      return [...all.slice(0, -1), changes.reduce((turn, change) => change(turn), last)];
    });
  };
  const apply = (change: (turn: Turn) => Turn): void => {
    pending.current.push(change);
    if (frame.current === 0) frame.current = requestAnimationFrame(flush);
  };

  return {
    turns,
    model,
    isRunning: turns.at(-1)?.end === null,
    choose: (name) => setModel(name === '' ? null : name),
    async send(question) {
      const abort = new AbortController();
      running.current = abort;
      const messages = messagesOf(turns, question);
      setTurns((all) => [...all, newTurn(question, performance.now())]);
      const end = await sendChat(
        { model, messages },
        (event) => {
          const now = performance.now();
          apply((turn) => withEvent(turn, event, now));
        },
        abort.signal,
      );
      const now = performance.now();
      apply((turn) => withEnd(turn, end, now));
      flush();
    },
    stop: () => running.current?.abort(),
    clear: () => setTurns([]),
  };
}

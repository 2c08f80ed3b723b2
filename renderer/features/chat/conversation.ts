import { useEffect, useRef, useState } from 'react';
import type { ChatEnd, ChatEvent, ChatMessage, ChatRoute, SendChat } from '../../api/chat.ts';

export type Conversation = ReturnType<typeof useConversation>;

/** A conversation in progress. Used above the pages, so that an answer continues while another page is shown. */
export function useConversation(sendChat: SendChat) {
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

  const ask = async (before: readonly Turn[], question: string): Promise<void> => {
    const abort = new AbortController();
    running.current = abort;
    const messages = messagesOf(before, question);
    setTurns([...before, newTurn(question, performance.now())]);
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
  };

  return {
    turns,
    /** Null: the gateway chooses. */
    model,
    isRunning: turns.at(-1)?.end === null,
    /** An empty name leaves the choice to the gateway. */
    choose: (name: string) => setModel(name === '' ? null : name),
    send: (question: string) => ask(turns, question),
    again: async (): Promise<void> => {
      const last = turns.at(-1);
      if (last !== undefined && last.end !== null) await ask(turns.slice(0, -1), last.question);
    },
    stop: () => running.current?.abort(),
    clear: () => setTurns([]),
  };
}

/** One question and its answer; times are page milliseconds. */
export interface Turn {
  readonly question: string;
  readonly text: string;
  readonly reasoning: string;
  readonly route: ChatRoute | null;
  readonly model: string | null;
  readonly askedAt: number;
  readonly firstAt: number | null;
  readonly endedAt: number | null;
  /** Number of text pieces, about one per token. */
  readonly pieces: number;
  readonly usage: { readonly prompt: number; readonly completion: number } | null;
  /** Null while it runs. */
  readonly end: ChatEnd | null;
}

export function newTurn(question: string, now: number): Turn {
  return {
    question,
    text: '',
    reasoning: '',
    route: null,
    model: null,
    askedAt: now,
    firstAt: null,
    endedAt: null,
    pieces: 0,
    usage: null,
    end: null,
  };
}

export function withEvent(turn: Turn, event: ChatEvent, now: number): Turn {
  switch (event.kind) {
    case 'route':
      return { ...turn, route: event.route };
    case 'model':
      return turn.model === event.model ? turn : { ...turn, model: event.model };
    case 'usage':
      return { ...turn, usage: event };
    case 'text': {
      const begun = { ...turn, firstAt: turn.firstAt ?? now, pieces: turn.pieces + 1 };
      return event.isReasoning
        ? { ...begun, reasoning: turn.reasoning + event.text }
        : { ...begun, text: turn.text + event.text };
    }
  }
}

export const withEnd = (turn: Turn, end: ChatEnd, now: number): Turn => ({
  ...turn,
  end,
  endedAt: now,
});

/** The messages sent with the next question; turns without an answer are left out. */
export function messagesOf(turns: readonly Turn[], question: string): readonly ChatMessage[] {
  const earlier = turns
    .filter(({ text }) => text !== '')
    .flatMap(({ question: asked, text }): ChatMessage[] => [
      { role: 'user', content: asked },
      { role: 'assistant', content: text },
    ]);
  return [...earlier, { role: 'user', content: question }];
}

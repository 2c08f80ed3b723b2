import type { ChatEnd, ChatEvent, ChatMessage, ChatRoute } from '../../api/chat.ts';

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

export function withEnd(turn: Turn, end: ChatEnd, now: number): Turn {
  return { ...turn, end, endedAt: now };
}

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

/** Sends messages to the gateway's thread, one at a time. */
export interface Delivery<Message> {
  /** Resolves once that thread has processed it. */
  send(message: Message): Promise<void>;
  /** That thread has processed the last message and everything else that was waiting there. */
  taken(): void;
  /** Resolves once no message is waiting. */
  idle(): Promise<void>;
}

/**
 * A port delivers all waiting messages within one turn of the event loop, however small they are. So each message is
 * posted only after the last one was processed.
 */
export function createDelivery<Message>(post: (message: Message) => void): Delivery<Message> {
  const waiting: { readonly message: Message; readonly done: () => void }[] = [];
  let onItsWay: (() => void) | null = null;
  let last: Promise<void> = Promise.resolve();

  function next(): void {
    const first = waiting.shift();
    onItsWay = first?.done ?? null;
    if (first !== undefined) post(first.message);
  }

  return {
    send(message) {
      last = new Promise((done) => waiting.push({ message, done }));
      if (onItsWay === null) next();
      return last;
    },
    taken() {
      const done = onItsWay;
      next();
      done?.();
    },
    idle: () => last,
  };
}

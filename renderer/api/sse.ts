/** Turns chunks of an event stream into the `data` of each event; `push` may split anywhere. */
export function createSseReader(onData: (data: string) => void): (chunk: string) => void {
  /** The incomplete last line. */
  let rest = '';
  let data: string[] = [];

  const take = (line: string): void => {
    if (line === '') {
      if (data.length > 0) onData(data.join('\n'));
      data = [];
    } else if (line.startsWith('data:')) {
      data.push(line.slice(line[5] === ' ' ? 6 : 5));
    }
  };

  return (chunk) => {
    // Searches only the new chunk: an event may be megabytes long.
    for (let from = 0; ;) {
      const end = chunk.indexOf('\n', from);
      rest += chunk.slice(from, end === -1 ? undefined : end);
      if (end === -1) return;
      take(rest.endsWith('\r') ? rest.slice(0, -1) : rest);
      rest = '';
      from = end + 1;
    }
  };
}

/** Reads a body to its end; `onChunk` is called before the events of each chunk. */
export async function readEvents(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  onData: (data: string) => void,
  onChunk?: () => void,
): Promise<void> {
  const push = createSseReader(onData);
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    onChunk?.();
    push(value);
  }
}

/** Turns chunks of an event stream into the `data` of each event; `push` may split anywhere. */
export function createSseReader(onData: (data: string) => void): (chunk: string) => void {
  let buffer = '';
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
    buffer += chunk;
    for (;;) {
      const end = buffer.indexOf('\n');
      if (end < 0) return;
      const line = buffer.slice(0, end);
      buffer = buffer.slice(end + 1);
      take(line.endsWith('\r') ? line.slice(0, -1) : line);
    }
  };
}

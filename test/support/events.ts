/** The events of a stream's text, each checked to be named by its type. */
export function eventsIn(text: string): Record<string, unknown>[] {
  return text
    .split('\n\n')
    .filter((each) => each !== '')
    .map((each) => {
      const [name, data] = each.split('\n');
      const event = JSON.parse((data ?? '').slice('data: '.length)) as Record<string, unknown>;
      if (name !== `event: ${String(event['type'])}`) throw new Error(`misnamed: ${each}`);
      return event;
    });
}

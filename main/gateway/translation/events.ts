/** Its fields depend on its type. */
export interface StreamEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** One server-sent event whose name is its type, as both protocols send them. */
export function eventText(event: StreamEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

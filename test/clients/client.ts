/** An unmodified client, in front of a gateway at an address. */
export interface Client {
  readonly name: string;
  /** What it asks for; every upstream has chat completions, so only responses are translated. */
  readonly api: 'chat' | 'responses';
  text(base: string): Promise<string>;
  /** The text in its pieces. */
  stream(base: string, signal: AbortSignal): AsyncIterable<string>;
  /** Asks with the tool, runs what the model calls, and asks again. */
  withTool(base: string, weather: (city: string) => string): Promise<string>;
  /** An object with a number `a`. */
  structured(base: string): Promise<unknown>;
  /** Asks about IMAGE. */
  image(base: string): Promise<string>;
}

export const KEY = 'of-the-caller';
export const MODEL = 'm';
export const IMAGE = 'data:image/png;base64,iVBORw0KGgo=';

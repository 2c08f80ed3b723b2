/** The OpenAI error shape; `src` says that the gateway itself, not an upstream, failed. */
export interface ErrorBody {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly code: string | null;
    readonly param: string | null;
  };
  readonly src?: 'gateway';
}

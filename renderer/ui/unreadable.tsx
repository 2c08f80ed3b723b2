interface UnreadableProps {
  readonly what: string;
  readonly message: string;
  readonly onRetry: () => void;
}

/** Shown in the place of something that could not be read. */
export function Unreadable({ what, message, onRetry }: UnreadableProps) {
  return (
    <section className="panel empty" role="alert">
      <h2>{what} could not be read</h2>
      <p>{message}</p>
      <button type="button" className="button" onClick={onRetry}>
        Try again
      </button>
    </section>
  );
}

/** Says that this is the demo. */
export function DemoNote() {
  return (
    <p className="line-note">
      <strong className="demo-badge">Demo</strong>
      <span>
        These upstreams are simulated and their answers are canned text. Break one and watch where
        requests go. Try “slow start” on a hosted upstream to see a hedge, “drops stream” to see an
        answer resumed.
      </span>
    </p>
  );
}

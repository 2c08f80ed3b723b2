/** Says that this is the demo. */
export function DemoNote() {
  return (
    <p className="line-note">
      <strong className="demo-badge">Demo</strong>
      <span>
        These upstreams are simulated and their answers are canned text. Break one and watch where
        requests go: “slow start” of a hosted one brings a hedge, “cuts off” a hand-over.
      </span>
    </p>
  );
}

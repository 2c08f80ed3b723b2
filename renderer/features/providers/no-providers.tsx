export function NoProviders() {
  return (
    <section className="panel empty" aria-labelledby="no-providers">
      <h2 id="no-providers">No machine reports to this gateway yet</h2>
      <p>
        A provider is a machine with a GPU and an inference engine, such as Ollama, llama.cpp, vLLM
        or LM Studio. Requests for Local go to the machines listed here.
      </p>
      <dl className="ways">
        <div>
          <dt>This machine</dt>
          <dd>
            Its own agent appears by itself within seconds of the gateway’s start; there is nothing
            to enter. If it does not, what is said above of this machine tells why.
          </dd>
        </div>
        <div>
          <dt>Another machine</dt>
          <dd>“Add a machine” gives you one line to run there. It works once, for an hour.</dd>
        </div>
      </dl>
    </section>
  );
}

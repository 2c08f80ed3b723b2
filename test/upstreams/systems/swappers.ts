import { part } from '../speech.ts';
import type { Listed } from '../system.ts';

const notice = (text: string) => ({ choices: [{ delta: { reasoning_content: text } }] });

/** In pieces of five characters at most; while it loads, a dot now and then and a remark. */
const LOADING = [
  '━━━━━',
  '\n',
  'llama',
  '-swap',
  '\n',
  '.',
  '\n',
  'Done!',
  '\n',
  '━━━━━',
  '\n',
  ' ',
  '\n',
].map(notice);

/** What holds several models, and loads them when they are asked for. */
export const SWAPPERS: readonly Listed[] = [
  {
    // github.com/mostlygeek/llama-swap, internal/{process,router,swaputil}.
    name: 'llama-swap of 2026',
    oddities: [
      {
        // internal/router/loading.go, with `sendLoadingState`.
        says: 'an answer behind its notices',
        stream: [...LOADING, part({ reasoning_content: 'Hm.' }), part({ content: 'Pre' }, 'stop')],
        fate: { text: 'Pre', reasoning: 'Hm.' },
      },
      {
        says: 'an error behind its notices',
        stream: [
          ...LOADING,
          JSON.stringify({
            src: 'llama-swap',
            error: { message: 'unspecific error: [m] upstream exited unexpectedly' },
          }),
        ],
        isOpen: true,
        fate: { next: 'model_not_found' },
      },
    ],
  },
  {
    // github.com/lemonade-sdk/lemonade, src/cpp/include/lemon/error_types.h and src/cpp/server.
    name: 'Lemonade',
    failures: [
      {
        // streaming_proxy.cpp
        event: {
          error: { message: 'backend returned HTTP 429', type: 'backend_error', status_code: 429 },
        },
        means: 'rate_limited',
      },
    ],
  },
  {
    // github.com/runpod-workers/worker-vllm, src/handler.py.
    name: 'vLLM at RunPod',
    oddities: [
      {
        says: 'with a 200 that its engine is gone',
        whole: { error: { message: 'vLLM server process is not running', type: 'worker_error' } },
        fate: { next: 'bad_response' },
      },
    ],
  },
];

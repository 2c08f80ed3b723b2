import { openAi, refused } from '../refused.ts';
import { DONE, part } from '../speech.ts';
import type { System } from '../system.ts';

const swapError = (message: string, type: string, code: string) => ({
  src: 'llama-swap',
  error: { message, type, param: null, code },
});

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
export const SWAPPERS: readonly System[] = [
  {
    // github.com/mostlygeek/llama-swap, internal/{process,router,swaputil}.
    name: 'llama-swap of 2026',
    place: 'local',
    manner: {},
    refusals: [
      refused(
        'busy',
        503,
        swapError('[m] process is not ready', 'server_error', 'service_unavailable'),
      ),
      refused(
        'model_not_found',
        500,
        swapError(
          'unspecific error: health check timed out after 2m0s',
          'server_error',
          'internal_error',
        ),
      ),
      refused(
        'model_not_found',
        404,
        swapError('no router for requested model', 'invalid_request_error', 'not_found'),
      ),
    ],
    oddities: [
      {
        // internal/router/loading.go, with `sendLoadingState`.
        says: 'an answer behind its notices',
        stream: [
          ...LOADING,
          part({ reasoning_content: 'Hm.' }),
          part({ content: 'Pre' }, 'stop'),
          DONE,
        ],
        fate: { text: 'Pre', reasoning: 'Hm.' },
      },
      {
        says: 'an error behind its notices',
        stream: [
          ...LOADING,
          JSON.stringify(
            swapError(
              'unspecific error: [m] upstream exited unexpectedly',
              'server_error',
              'internal_error',
            ),
          ),
        ],
        fate: { next: 'model_not_found' },
      },
    ],
  },
  {
    // github.com/lemonade-sdk/lemonade, src/cpp/include/lemon/error_types.h and src/cpp/server.
    name: 'Lemonade',
    place: 'local',
    manner: {},
    refusals: [
      refused('model_not_found', 500, {
        error: 'All loaded models of type llm are pinned. Unload a model first.',
      }),
    ],
    failures: [
      {
        // streaming_proxy.cpp
        event: {
          error: {
            message: 'backend returned HTTP 429',
            type: 'backend_error',
            status_code: 429,
          },
        },
        means: 'rate_limited',
      },
    ],
  },
  {
    // github.com/vllm-project/production-stack, services/request_service/request.py.
    name: 'the production stack of vLLM',
    place: 'local',
    manner: {},
    refusals: [
      refused('busy', 503, {
        error: "Model 'm' is temporarily unavailable. Please try again later.",
      }),
    ],
  },
  {
    // github.com/xorbitsai/inference, core/model.py, core/supervisor.py and api/restful_api.py.
    name: 'Xinference',
    place: 'local',
    manner: {},
    refusals: [
      refused('busy', 429, {
        detail:
          '[address=0.0.0.0:1, pid=1] Rate limit reached for the model. Request limit 1 for the model: m',
      }),
    ],
    failures: [{ event: { error: 'CUDA out of memory' }, means: 'bad_response' }],
  },
  {
    // github.com/runpod-workers/worker-vllm, src/handler.py.
    name: 'vLLM at RunPod',
    place: 'local',
    manner: {},
    refusals: [
      refused(
        'bad_response',
        200,
        openAi('vLLM server process is not running; worker is unhealthy', null, 'worker_error'),
      ),
    ],
  },
];

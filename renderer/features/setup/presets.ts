import { t } from '../../text/t.ts';

/** A service or a program with an OpenAI-compatible API. */
export interface Preset {
  readonly name: string;
  /** Null: it runs on the user's own machine, whose address is entered. */
  readonly baseUrl: string | null;
  /** An example address; empty if the address is known. */
  readonly example: string;
  readonly key: 'needed' | 'optional';
  /** The page on which a key is created; empty for programs. */
  readonly keysAt: string;
}

const { onAnother, other } = t.setup.hosted;

export const PRESETS: readonly Preset[] = [
  service('OpenAI', 'https://api.openai.com/v1', 'platform.openai.com/api-keys'),
  service('Anthropic', 'https://api.anthropic.com/v1', 'console.anthropic.com/settings/keys'),
  service('Groq', 'https://api.groq.com/openai/v1', 'console.groq.com/keys'),
  service('Together', 'https://api.together.xyz/v1', 'api.together.ai/settings/api-keys'),
  service('OpenRouter', 'https://openrouter.ai/api/v1', 'openrouter.ai/settings/keys'),
  service('Mistral', 'https://api.mistral.ai/v1', 'console.mistral.ai/api-keys'),
  service('DeepSeek', 'https://api.deepseek.com/v1', 'platform.deepseek.com/api_keys'),
  program(onAnother('Ollama'), 'http://192.168.1.20:11434/v1'),
  program(onAnother('LM Studio'), 'http://192.168.1.20:1234/v1'),
  program(onAnother('vLLM'), 'http://192.168.1.20:8000/v1'),
  program(other, 'https://api.example.com/v1'),
];

function service(name: string, baseUrl: string, keysAt: string): Preset {
  return { name, baseUrl, example: '', key: 'needed', keysAt };
}

function program(name: string, example: string): Preset {
  return { name, baseUrl: null, example, key: 'optional', keysAt: '' };
}

/** The label of an upstream after its set-up: the service's name, or a machine's host name. */
export function labelFor({ name, baseUrl }: Preset, address: string): string {
  if (baseUrl !== null) return name;
  return URL.canParse(address) ? new URL(address).hostname : name;
}
